"""The compared systems: MIMLfast and MIMLSVM, and the active learners built on them, behind the learner's interface."""

from bagwise.baselines.class_frequency import ClassFrequency
from bagwise.baselines.miml_al import MIMLAL
from bagwise.baselines.mimlfast import MIMLfast
from bagwise.baselines.mimlsvm import MIMLSVM
from bagwise.baselines.mimlsvm_al import MIMLSVMAL

__all__ = ["MIMLAL", "MIMLSVM", "MIMLSVMAL", "ClassFrequency", "MIMLfast"]

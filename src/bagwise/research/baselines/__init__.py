"""The compared systems: MIMLfast and MIMLSVM, and active learners built on them with the interface of `Learner`."""

from bagwise.research.baselines.class_frequency import ClassFrequency
from bagwise.research.baselines.miml_al import MIMLAL
from bagwise.research.baselines.mimlfast import MIMLfast
from bagwise.research.baselines.mimlsvm import MIMLSVM
from bagwise.research.baselines.mimlsvm_al import MIMLSVMAL

__all__ = ["MIMLAL", "MIMLSVM", "MIMLSVMAL", "ClassFrequency", "MIMLfast"]

"""The labelling page: a thin server over one project."""

from bagwise.server.app import application
from bagwise.server.serving import refuse_other_machines, refuse_taken_port, serve

__all__ = ["application", "refuse_other_machines", "refuse_taken_port", "serve"]

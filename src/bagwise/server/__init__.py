"""The labelling page: a thin server over one project."""

from bagwise.server.app import application
from bagwise.server.safety import Site
from bagwise.server.serving import configuration, refuse_strangers, refuse_taken_port, serve

__all__ = ["Site", "application", "configuration", "refuse_strangers", "refuse_taken_port", "serve"]

"""The labelling page: a thin server over one project."""

from bagwise.server.app import application
from bagwise.server.run import configuration, refuse_strangers, refuse_taken_port, serve
from bagwise.server.security import Site

__all__ = ["Site", "application", "configuration", "refuse_strangers", "refuse_taken_port", "serve"]

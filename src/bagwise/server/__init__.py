"""The labelling page: a thin server over one project."""

from bagwise.server.app import application
from bagwise.server.run import configuration, serve, validate_host, validate_port
from bagwise.server.security import Site

__all__ = ["Site", "application", "configuration", "serve", "validate_host", "validate_port"]

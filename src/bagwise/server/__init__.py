"""The web server of one project: the labelling page, and the API that it uses (FastAPI)."""

from bagwise.server.app import application
from bagwise.server.run import configuration, serve, validate_host, validate_port
from bagwise.server.site import Site

__all__ = ["Site", "application", "configuration", "serve", "validate_host", "validate_port"]

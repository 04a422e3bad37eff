"""Hooks of MkDocs, named in mkdocs.yml.

Pages of the repository's root become pages of the site, `::: package.*` becomes one entry for each module of a package,
and a page that would load anything from another host is an error: the site works without a network.
"""

import pkgutil
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
FROM_DOCS = {f"../{source}": page for source, page in PAGES.items()}
LINK = re.compile(r"(?<=\]\()([^)#\s]+)")
FAMILY = re.compile(r"^::: (?P<package>\S+)\.\*\n(?P<options>(?: {4}.*\n?)*)", flags=re.MULTILINE)

LOADED = re.compile(
    r"""<(?:script|img|source|iframe|link rel="(?:stylesheet|preconnect)")[^>]*["'](?:https?:)?//[^>]*>"""
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the root to those of `docs`."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=as_site_page((ROOT / source).read_text())))
    return files


def on_page_markdown(markdown: str, **_: object) -> str:
    """Lead links such as `../CONTRIBUTING.md` to the page of the site, and list the modules of plug-in families."""
    linked = LINK.sub(lambda link: FROM_DOCS.get(link[1], link[1]), markdown)
    return FAMILY.sub(lambda family: modules_of(family["package"], family["options"]), linked)


def on_post_page(output: str, page: Page, **_: object) -> None:
    """Refuse scripts, styles, fonts and pictures of other hosts; links that a reader follows are fine."""
    if found := LOADED.search(output):
        raise PluginError(f"{page.file.src_uri} loads something from another host: {found[0]}")


def as_site_page(markdown: str) -> str:
    """The text of a page of the root with links as in `docs`: `docs/method.md` becomes `method.md`."""
    return LINK.sub(lambda link: PAGES.get(link[1], link[1].removeprefix("docs/")), markdown)


def modules_of(package: str, options: str) -> str:
    """One reference entry for each public module of a package; found by their files, nothing is imported."""
    folder = ROOT / "src" / package.replace(".", "/")
    names = sorted(module.name for module in pkgutil.iter_modules([str(folder)]) if not module.name.startswith("_"))
    return "\n".join(f"::: {package}.{name}\n{options}" for name in names)

"""Pictures of the page for the documentation, made from its own examples.

    python -m tools.screenshots [NAME...]

Without names all are made: `page`, `recordings`, `pictures`, `documents`. It takes Chromium, as the tests do, and what
the examples of these pages need.
"""

import contextlib
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn
from PIL import Image, ImageOps
from playwright.sync_api import Page, sync_playwright

from bagwise import datasets
from bagwise.cli._demo import make_demo
from bagwise.project import Lease, Project, quality_of
from bagwise.server import Site, application, configuration
from tools import programs

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
WIDTH, HEIGHT = 1280, 900
PRINTED_WIDTH, PRINTED_MARGIN = 680, 50
"""Of the text on A4, and of the paper around it, in pixels of CSS."""
ANSWERS = {"page": 240, "recordings": 16, "pictures": 40, "documents": 60}
POINTING = {"recordings": "pointing-sound", "pictures": "pointing-picture"}
"""Pages whose project also shows how to point: a question that is answered *yes*."""
ANN = "ann"

Truth = Callable[[str, str], bool]
"""Whether a class is in a bag, by their names."""


def main() -> None:
    """Make the pictures that the arguments name."""
    for name in sys.argv[1:] or ANSWERS:
        with tempfile.TemporaryDirectory() as place:
            folder, truth = demo(Path(place)) if name == "page" else example(name, Path(place))
            if name == "page":
                answer(folder, truth, ANSWERS[name])
            with page_of(folder) as page:
                save(page, name, whole_page=name in ("page", "pictures", "documents"))
                if name == "page":
                    save_printed(page)
            if name in POINTING:
                answer(folder, truth, ANSWERS[name], until_yes=True)
                with page_of(folder) as page:
                    save(page, POINTING[name], whole_page=False)


def demo(place: Path) -> tuple[Path, Truth]:
    """Return the project of `bagwise demo` and its truth."""
    data = datasets.load("digits")
    make_demo(place / "digits")
    value = np.asarray(data.labels.value)
    return place / "digits", lambda bag, name: bool(value[int(bag.split()[1]) - 1, data.classes.index(name)])


def example(name: str, place: Path) -> tuple[Path, Truth]:
    """Run the beginning of a page of the documentation; return its project and its truth."""
    text = (ROOT / f"docs/{name}.md").read_text(encoding="utf-8")
    code = next(iter(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)))
    command = next(iter(re.findall(r"^\$ bagwise (init .*)$", text, flags=re.MULTILINE)))
    names: dict[str, Any] = {}
    with contextlib.chdir(place):
        sys.path.insert(0, str(ROOT))
        exec(code, names)
        arguments = shlex.split(command)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        subprocess.run([sys.executable, "-m", "bagwise", *arguments], check=True, env=environment)
    known = {(bag, label): bool(value) for bag, label, value in names["truth"]}
    return place / arguments[1], lambda bag, label: known[bag, label]


def answer(folder: Path, truth: Truth, count: int, until_yes: bool = False) -> None:
    """Answer truly; with `until_yes`, go on until the next answer is *yes* and several instances can be pointed at."""
    with Project.open(folder) as project:

        def is_true(lease: Lease) -> bool:
            return truth(str(project.contents.ids[lease.bag]), project.classes[lease.label_class])

        (lease,) = project.ask(ANN)
        while count > 0 or (until_yes and not (is_true(lease) and project.shows_instances(lease.bag))):
            project.answer(lease.key, ANN, "present" if is_true(lease) else "absent", seconds=2.0)
            count -= 1
            (lease,) = project.ask(ANN)
        quality_of(project)


@contextlib.contextmanager
def page_of(folder: Path) -> Iterator[Page]:
    """Yield the page of a project, with its question shown."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Project.open(folder) as project, sync_playwright() as playwright:
        site = Site()
        server = uvicorn.Server(configuration(application(project, ANN, site), site, port))
        thread = threading.Thread(target=server.run)
        thread.start()
        browser = playwright.chromium.launch(executable_path=programs.chromium(), args=["--no-sandbox"])
        try:
            while not server.started:
                time.sleep(0.05)
            page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
            page.goto(f"http://127.0.0.1:{port}")
            page.wait_for_selector("#question b")
            page.wait_for_selector("#figures dd")
            page.wait_for_timeout(3000)
            yield page
        finally:
            browser.close()
            server.should_exit = server.force_exit = True
            thread.join()


def save(page: Page, name: str, whole_page: bool) -> None:
    """Write the picture: all that the window shows, or only the question."""
    path = IMAGES / f"{name}.png"
    if whole_page:
        page.screenshot(path=path)
    else:
        box = page.locator("#asking").bounding_box()
        assert box is not None
        end = page.locator("#aids").bounding_box()
        assert end is not None
        height = min(HEIGHT, end["y"] + end["height"]) - box["y"]
        width = box["x"] + box["width"] + box["x"]
        page.screenshot(path=path, clip={"x": 0, "y": box["y"], "width": width, "height": height})
    shrink(path, Image.open(path))


def save_printed(page: Page) -> None:
    """Write the picture of the page to print, as it is on paper."""
    path = IMAGES / "quality-page.png"
    page.goto(f"{page.url.partition('#')[0]}api/quality/report")
    page.emulate_media(media="print")
    page.set_viewport_size({"width": PRINTED_WIDTH, "height": 10})
    page.screenshot(path=path, full_page=True)
    shrink(path, ImageOps.expand(Image.open(path).convert("RGB"), PRINTED_MARGIN, "white"))


def shrink(path: Path, picture: Image.Image) -> None:
    """Write a picture with as few colours as are enough, in a quarter of the bytes."""
    picture.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.relative_to(ROOT), flush=True)


if __name__ == "__main__":
    main()

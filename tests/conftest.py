import shutil

import numpy as np
import pytest
from playwright.sync_api import sync_playwright

from bagwise import Bags, Labels


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def small():
    """Twelve bags of two to five instances, four classes, about half of the labels known."""
    rng = np.random.default_rng(3)
    bags = Bags.from_list([rng.normal(size=(rng.integers(2, 6), 3)) for _ in range(12)])
    value = rng.random((12, 4)) < 0.4
    return bags, Labels(value, rng.random((12, 4)) < 0.5)


@pytest.fixture(scope="session")
def chromium():
    """Debian's Chromium without a screen and without a network of its own."""
    path = shutil.which("chromium")
    assert path, "Chromium is missing: `make test` installs it (tools/system-packages.sh)."
    quiet = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=quiet)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium):
    """A fresh tab that collects whatever goes wrong in it as `page.faults`."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.faults = []
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("console", lambda message: page.faults.append(message.text) if message.type == "error" else None)
    yield page
    context.close()

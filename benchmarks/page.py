"""Time from a key press to the next question on the screen, in Chromium, with a server of `bagwise serve`.

    python -m benchmarks.page [--answers 60] [--pauses 0 0.2 0.5] [--out benchmarks/results/page.json]

A pause is the time between seeing a question and pressing a key. The time is from the key event to the first frame with
the next question painted; issue 6 asks for less than 50 ms. Without a pause, answers come faster than the server
learns, and the questions fetched ahead run out.
"""

import argparse
import json
import platform
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.table import Table

from bagwise.cli._demo import make_demo
from tools import programs

CHROMIUM = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WATCH = """() => {
  window.times = [];
  let pressed = null;
  document.addEventListener("keydown", (event) => { pressed = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (!document.body.dataset.shown || pressed === null) return;
    const start = pressed;
    pressed = null;
    requestAnimationFrame(() => setTimeout(() => window.times.push(performance.now() - start)));
  }).observe(document.body, { attributes: true, attributeFilter: ["data-shown"] });
}"""


@contextmanager
def served(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "bagwise",
        "serve",
        str(folder),
        "--port",
        str(port),
        "--no-browser",
        "--as",
        "ann",
    ]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    address = f"http://127.0.0.1:{port}"
    try:
        while True:
            with suppress(OSError), urllib.request.urlopen(f"{address}/api/status"):
                break
            time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        process.wait()


def measure(browser, answers, pause):
    with tempfile.TemporaryDirectory() as folder:
        make_demo(Path(folder) / "digits")
        with served(Path(folder) / "digits") as address:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(address)
            page.wait_for_selector("#bag .strip")
            page.wait_for_timeout(1000)
            page.evaluate(WATCH)
            for number in range(answers):
                page.keyboard.press("yn"[number % 2])
                page.wait_for_function("count => window.times.length >= count", arg=number + 1, polling=5)
                page.wait_for_timeout(1000 * pause)
            times = page.evaluate("window.times")
            page.close()
    return {
        "pause": pause,
        "answers": answers,
        "median_ms": float(np.median(times)),
        "p99_ms": float(np.percentile(times, 99)),
        "largest_ms": float(max(times)),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--answers", type=int, default=60)
    parser.add_argument("--pauses", type=float, nargs="+", default=[0, 0.2, 0.5])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "page.json")
    options = parser.parse_args()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=programs.chromium(), args=CHROMIUM)
        rows = [measure(browser, options.answers, pause) for pause in options.pauses]
        browser.close()
    table = Table(
        "seconds between keys", "median ms", "99 % ms", "largest ms", title="From the key to the next question"
    )
    for row in rows:
        table.add_row(str(row["pause"]), *(f"{row[name]:.1f}" for name in ("median_ms", "p99_ms", "largest_ms")))
    Console().print(table)
    options.out.write_text(
        json.dumps({"machine": platform.processor() or platform.machine(), "runs": rows}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()

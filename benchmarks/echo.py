"""A bare FastAPI application for the two requests of `load.py`, or that of Bagwise with nothing behind it.

    python benchmarks/echo.py [--project DIR] QUESTION.json PORT

It parses and validates every answer; what it sends is what Bagwise sends, encoded once. With a project it is Bagwise's
application, with all its checks of a request, but nobody is looked up, and nothing saved or asked.
"""

import argparse
import gc
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Response

from bagwise.project import Event, Project
from bagwise.server import Site, application
from bagwise.server.api.questions import AnswerIn, EventOut
from bagwise.server.question_encoder import QuestionOut
from bagwise.server.run import GARBAGE_THRESHOLDS, configuration


def bare_application(asked):
    """Return an application that asks this question, as JSON."""
    app, encoded = FastAPI(openapi_url="/api/openapi.json"), b"[%b]" % asked
    first = QuestionOut.model_validate_json(asked)
    event = {
        "number": 1, "kind": "answer", "bag_id": first.bag.id, "class_name": first.class_name, "annotator": "person 0",
        "at": "2026-01-01T00:00:00.000+00:00", "replaces": None, "replaced": None, "counts_as": "absent", "where": [],
        "elsewhere": [], "disputed": [], "instance": None,
    }  # fmt: skip

    @app.get("/api/questions/next", response_model=list[QuestionOut])
    async def next_questions() -> Response:
        return Response(encoded, media_type="application/json")

    @app.post("/api/answers")
    async def save_answer(sent: AnswerIn) -> EventOut:
        return EventOut(answer=sent.answer, **event)

    return app


class Nothing:
    """Stands for the batcher of an application."""

    def __init__(self, project, asked):
        self.project, self._asked = project, asked

    async def who(self, _shown, _remembered):
        return "person 0"

    async def ask(self, _shown, _request, _known):
        return [self._asked]

    async def submit(self, _shown, make):
        submission, at = make(), "2026-01-01T00:00:00.000+00:00"
        return [Event(1, submission.key, "answer", submission.annotator, at, 0, 0, submission.answers[0])]

    def close(self):
        pass


def application_with_nothing_behind(project, asked):
    """Return Bagwise's application, whose routes get this question, as JSON, and events at once."""
    app = application(project, "person 0")
    app.state.batcher.close()
    app.state.batcher = Nothing(project, asked)
    return app


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--project", type=Path, default=None)
    parser.add_argument("question", type=Path)
    parser.add_argument("port", type=int)
    options = parser.parse_args()
    # As Bagwise's server: with Python's own, both would look for garbage a tenth of the time.
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    asked = options.question.read_bytes().removeprefix(b"[").removesuffix(b"]")
    if options.project is None:
        uvicorn.run(bare_application(asked), port=options.port, log_config=None, access_log=False)
    else:
        with Project.open(options.project, apart=True) as project:
            app = application_with_nothing_behind(project, asked)
            uvicorn.Server(configuration(app, Site(), options.port)).run()


if __name__ == "__main__":
    main()

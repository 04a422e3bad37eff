"""A bare FastAPI application for the two requests of `load.py`.

    python benchmarks/echo.py QUESTION.json PORT

It parses and validates every answer; what it sends is as large as what Bagwise sends, made of the same models, and
encoded for every request.
"""

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from pydantic import TypeAdapter

from bagwise.server.api.questions import AnswerIn, EventOut, QuestionOut


def application(questions):
    """Return the application; `questions` is the response of Bagwise, as JSON."""
    app = FastAPI(openapi_url="/api/openapi.json")
    asked = TypeAdapter(list[QuestionOut]).validate_json(questions)
    (first,) = asked
    event = {
        "number": 1, "kind": "answer", "bag_id": first.bag.id, "class_name": first.class_name, "annotator": "person 0",
        "at": "2026-01-01T00:00:00.000+00:00", "replaces": None, "replaced": None, "counts_as": "absent", "where": [],
        "elsewhere": [], "disputed": [], "instance": None,
    }  # fmt: skip

    @app.get("/api/questions/next")
    async def next_questions() -> list[QuestionOut]:
        return asked

    @app.post("/api/answers")
    async def save_answer(sent: AnswerIn) -> EventOut:
        return EventOut(answer=sent.answer, **event)

    return app


if __name__ == "__main__":
    uvicorn.run(application(Path(sys.argv[1]).read_bytes()), port=int(sys.argv[2]), log_config=None, access_log=False)

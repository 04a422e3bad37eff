"""The API does what its description says: schemathesis sends what the description allows, and what it does not.

A twelfth of `--steps` is the number of requests to every operation: `--steps 10000` sends 833 to each.
"""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)

from bagwise.project import Invitations, Project
from bagwise.server import application
from tests.conftest import source_of

PATIENCE = 300
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
HERE = {"Host": "127.0.0.1:8765"}


@pytest.fixture
def in_a_file(tmp_path, synthetic):
    with Project.create(tmp_path / "project", source_of(synthetic), classes=synthetic.classes) as project:
        yield project


def try_everything(app, mode, headers, examples, person="ann"):
    """Every operation with made-up requests; the answers it gave."""
    described = schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=HERE)
    # Made up, these would refuse everything before it is looked at.
    meant = {"Bagwise-Project": app.state.project.contents.project, "Bagwise-Person": person}
    codes = set()
    for found in described.get_all_operations():

        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=found.ok().as_strategy(generation_mode=mode))
        def send(case):
            answer = case.call_and_validate(headers={**HERE, **meant, **headers}, checks=CHECKS, timeout=PATIENCE)
            codes.add(answer.status_code)

        send()
    return codes


@pytest.fixture
def examples(request):
    return max(3, request.config.getoption("--steps") // 12)


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_answer_is_a_fault_or_undocumented(in_a_file, mode, examples):
    codes = try_everything(application(in_a_file, "ann"), mode, {}, examples)
    assert 200 in codes
    assert codes & {400, 409, 422}


@pytest.mark.slow
def test_nor_with_a_sign_in(in_a_file, examples):
    token = Invitations(in_a_file.database).invite("bea")
    app = application(in_a_file, "ann")
    signed_in = try_everything(app, GenerationMode.POSITIVE, {"Authorization": f"Bearer {token}"}, examples, "bea")
    assert 200 in signed_in
    strangers = try_everything(app, GenerationMode.POSITIVE, {}, examples)
    assert 401 in strangers
    assert strangers <= {200, 401, 422, 429}

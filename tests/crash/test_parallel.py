"""Many annotators at once, in threads and in processes: no pair is leased to two people, no answer is lost.

python -m pytest tests/crash/test_parallel.py --answers 5000        the full size
"""

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import pytest

from bagwise import datasets
from bagwise.project import Asking, Learning, Project
from tests.conftest import source_of
from tests.project.test_project import all_is_well

PEOPLE = 20
PROCESSES = 3
TURNS = 12
ANNOTATOR = Path(__file__).parent / "annotator.py"


def big_enough(tmp_path, database, answers, **asking):
    data = datasets.load("synthetic")
    copies = -(-answers // data.labels.value.size) + 1
    source = source_of(
        data.select([i for _ in range(copies) for i in range(300)]), [str(i) for i in range(300 * copies)]
    )
    learning = Learning(update="bag_sgd")
    return Project.create(tmp_path / "p", source, None, data.classes, learning, Asking(**asking), database), data


@pytest.mark.slow
def test_twenty_people_in_one_process(tmp_path, database, request):
    answers = request.config.getoption("--answers")
    project, data = big_enough(tmp_path, database, answers)
    leased, faults = [], []

    def work(name):
        try:
            for _ in range(answers // PEOPLE):
                (asked,) = project.ask(name)
                leased.append((asked.bag, asked.label_class))
                truth = data.labels.value[asked.bag % 300, asked.label_class]
                project.answer(asked.key, name, "present" if truth else "absent")
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(f"person {i}",)) for i in range(PEOPLE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
        assert not thread.is_alive(), "deadlock"
    assert faults == []
    assert max(Counter(leased).values()) == 1
    assert len(project.events) == answers // PEOPLE * PEOPLE
    assert sorted((event.bag, event.label_class) for event in project.events) == sorted(leased)
    all_is_well(project)
    project.close()


def test_people_in_several_processes(tmp_path, database, request):
    answers = min(request.config.getoption("--answers"), 1500) // 4
    project, _ = big_enough(tmp_path, database, 1000)
    project.close()
    command = [sys.executable, str(ANNOTATOR), str(project.folder), str(answers // PROCESSES)]
    names = [f"person {i}" for i in range(PROCESSES)]
    with subprocess.Popen([*command, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as annotators:
        for _ in names:
            assert annotators.stdout.readline() == "ready\n"
        output, _ = annotators.communicate("!" * PROCESSES, timeout=600)
    assert annotators.returncode == 0
    lines = [line.split() for line in output.splitlines()]
    assert len(lines) == answers // PROCESSES * PROCESSES
    assert max(Counter((bag, c) for bag, c, _ in lines).values()) == 1
    with Project.open(project.folder) as after:
        assert Counter(event.key for event in after.events) == Counter(key for _, _, key in lines)
        all_is_well(after)


@pytest.mark.slow
def test_redundancy_leases_a_pair_to_exactly_so_many_people(tmp_path, database):
    project, _ = big_enough(tmp_path, database, 100, people=3)
    leased = Counter()
    for turn in range(TURNS):
        for person in range(5):
            (asked,) = project.ask(f"person {person}")
            leased[asked.bag, asked.label_class] += 1
            project.answer(asked.key, f"person {person}", "present" if turn % 2 else "absent")
    assert max(leased.values()) == 3
    assert sum(count == 3 for count in leased.values()) >= 0.8 * len(leased)
    all_is_well(project)
    project.close()

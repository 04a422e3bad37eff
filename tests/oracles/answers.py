"""The rules for answers, corrections and undos (docs/projects.md), slow and obvious: a list, read from the start.

Every action stays in the list. An undo marks actions as undone, and what counts is read off the actions that are not.
"""

from dataclasses import dataclass

NOWHERE = ((), ())
CHOSEN = (False, None)


class Refused(Exception):
    """The rules do not allow it."""


@dataclass
class Action:
    """Someone's answer to a pair. `chain` is the first action of those that replace each other; `go`, the request.

    `pointing` has the instances that it says are of the class, and those that it says are not. Where the question was
    about one `instance`, only *present* is about the bag. `drawn` is whether its question was an audit, and the
    probability of that.
    """

    number: int
    go: int
    person: str
    pair: tuple
    answer: str
    chain: int
    undone: bool = False
    pointing: tuple = ((), ())
    instance: int | None = None
    drawn: tuple = CHOSEN

    @property
    def is_about_bag(self):
        return self.instance is None or self.answer == "present"

    @property
    def votes(self):
        return self.answer != "skipped" and self.is_about_bag

    @property
    def of_instance(self):
        """What it says of the instance it is about: True, False, or None where it cannot say."""
        where, elsewhere = self.pointing
        if self.instance in where:
            return True
        return False if self.answer == "absent" or self.instance in elsewhere else None


class Rules:
    """All that was done; `imported` has the labels that came with the data, `sizes` how many instances a bag has."""

    def __init__(self, people, adjudicators, owner, imported, sizes):
        self.people, self.adjudicators, self.owner, self.imported = people, adjudicators, owner, imported
        self.sizes = sizes
        self.actions = []
        self.numbers = 0
        self.goes = 0
        self.names = set(adjudicators)

    # What people do

    def answer(self, person, answers, pointing=None, instance=None, drawn=CHOSEN):
        """One request: answers to pairs, and what some of them point at, all or none; or about one instance."""
        pointing = {
            pair: self.pointed(answer, (pointing or {}).get(pair, NOWHERE), instance)
            for pair, answer in answers.items()
        }
        for pair, answer in answers.items():
            self.may_point(pair, answer, pointing[pair])
            if (instance or 0) >= self.sizes[pair[0]]:
                raise Refused("does not exist")
            mine = self.mine(person, pair)
            if any(one.votes or (one.instance == instance and one.answer != "skipped") for one in mine):
                raise Refused("has answered")
            if any(one.instance == instance and not self.may_replace(person, one) for one in mine):
                raise Refused("was skipped for them by another")
        self.goes += 1
        for pair, answer in answers.items():
            chains = [one.chain for one in self.mine(person, pair) if one.instance == instance]
            self.add(person, pair, answer, chains[-1] if chains else None, pointing[pair], instance, drawn)

    def pointed(self, answer, pointing, instance):
        """*Present* to a question about an instance points at it, unless it points at others."""
        where, elsewhere = pointing
        return ((instance,), ()) if instance is not None and answer == "present" and not where else (where, elsewhere)

    def may_point(self, pair, answer, pointing):
        """Only where the class is present, at instances that the bag has, and not at one for yes and no."""
        where, elsewhere = pointing
        if (where or elsewhere) and answer != "present":
            raise Refused("is not present")
        if set(where) & set(elsewhere) or max([*where, *elsewhere], default=0) >= self.sizes[pair[0]]:
            raise Refused("cannot be pointed at")

    def correct(self, person, number, answer, pointing=NOWHERE, about_bag=False):
        old = next((one for one in self.actions if one.number == number), None)
        if old is None or not self.in_effect(old) or not self.may_replace(person, old):
            raise Refused("cannot be corrected")
        instance = None if about_bag else old.instance
        pointing = self.pointed(answer, pointing, instance)
        self.may_point(old.pair, answer, pointing)
        if old.chain < 0 and answer == "skipped":
            raise Refused("imported labels are not skipped")
        others = self.mine(self.voter(old), old.pair) if old.chain > 0 else []
        is_vote = instance is None or answer == "present"
        if is_vote and any(one.votes for one in others if one.chain != old.chain):
            raise Refused("has answered the pair again since")
        self.goes += 1
        self.add(person, old.pair, answer, old.chain, pointing, instance, old.drawn)

    def correct_imported(self, person, pair, answer, pointing=NOWHERE):
        self.may_point(pair, answer, pointing)
        if pair not in self.imported or answer == "skipped":
            raise Refused("was not imported")
        alone = not self.names - {person}
        if person not in self.adjudicators and person != self.owner and not alone:
            raise Refused("has no role")
        old = self.top(self.chain_of_import(pair))
        if old is not None and not self.may_replace(person, old):
            raise Refused("was corrected by another")
        self.goes += 1
        self.add(person, pair, answer, self.chain_of_import(pair), pointing)

    def adjudicate(self, person, pair, answer, pointing=NOWHERE):
        if pair in self.imported or person not in self.adjudicators or answer == "skipped":
            raise Refused("does not decide")
        words = [one for one in self.counting(pair) if one.person == person]
        if words:
            self.correct(person, words[-1].number, answer, pointing, about_bag=True)
        else:
            self.answer(person, {pair: answer}, {pair: pointing})

    def undo(self, person):
        mine = [one for one in self.actions if self.in_effect(one) and one.person == person]
        if not mine:
            raise Refused("nothing to undo")
        for one in mine:
            if one.go == mine[-1].go:
                one.undone = True
                self.numbers += 1

    def add(self, person, pair, answer, chain, pointing=NOWHERE, instance=None, drawn=CHOSEN):
        self.numbers += 1
        chain = self.numbers if chain is None else chain
        action = Action(self.numbers, self.goes, person, pair, answer, chain, False, pointing, instance, drawn)
        self.actions.append(action)
        self.names.add(person)

    # What follows from it

    def top(self, chain):
        return next((one for one in reversed(self.actions) if one.chain == chain and not one.undone), None)

    def in_effect(self, action):
        return self.top(action.chain) is action

    def mine(self, person, pair):
        """This person's answers in effect about a pair, perhaps corrected by others."""
        started = {one.chain for one in self.actions if one.number == one.chain and one.person == person}
        tops = [self.top(chain) for chain in sorted(started)]
        return [one for one in tops if one is not None and one.pair == pair]

    def voter(self, action):
        """Whose answer it was before any correction."""
        return next(one.person for one in self.actions if one.number == action.chain)

    def may_replace(self, person, action):
        if person == action.person or person in self.adjudicators:
            return True
        return person == self.owner and action.person not in self.adjudicators

    def chain_of_import(self, pair):
        return -1 - list(self.imported).index(pair)

    def place(self, action):
        """The number of the first of the corrections, without a skip between, that led to this one."""
        place = action.number
        for one in reversed(self.actions):
            if one.chain == action.chain and not one.undone and one.number < place:
                if one.answer == "skipped":
                    break
                place = one.number
        return place

    def counting(self, pair):
        """The answers to a pair that count, the last of each person, in the order of the places."""
        votes = [one for one in self.tops(pair) if one.votes]
        return [
            one for n, one in enumerate(votes) if self.voter(one) not in [self.voter(two) for two in votes[n + 1 :]]
        ]

    def tops(self, pair):
        """All that was answered about a pair and its instances, without what was skipped, by place."""
        tops = [one for one in self.actions if one.pair == pair and one.chain > 0 and self.in_effect(one)]
        return sorted((one for one in tops if one.answer != "skipped"), key=self.place)

    def verdict(self, pair, instance):
        """absent, unsure or disputed: what people say who were asked about one instance; None where that is open."""
        if pair in self.imported:
            return None
        asked = [one for one in self.tops(pair) if one.instance == instance]
        answers = [one for one in asked if one.of_instance is not None or not one.is_about_bag]
        words = [one for one in answers if one.person in self.adjudicators]
        alone = any(one.person in self.adjudicators for one in self.counting(pair))
        if not words and (alone or len(answers) < self.people):
            return None
        said = [one.of_instance for one in words[-1:] or answers[: self.people]]
        if {True, False} <= set(said):
            return "disputed"
        if said.count(False) > len(said) / 2:
            return "absent"
        return None if True in said else "unsure"

    def label(self, pair):
        """present, absent, unsure, or None where the pair is open."""
        if pair in self.imported:
            correction = self.top(self.chain_of_import(pair))
            return self.imported[pair] if correction is None else correction.answer
        answers = self.counting(pair)
        words = [one.answer for one in answers if one.person in self.adjudicators]
        if words:
            return words[-1]
        if len(answers) < self.people:
            return None
        counted = [one.answer for one in answers[: self.people]]
        return next((one for one in ("present", "absent") if 2 * counted.count(one) > self.people), "unsure")

    def pointing(self, pair):
        """What the answers that led to a label say of instances: all that anyone said, unless one decided alone."""
        if self.label(pair) != "present":
            return []
        if pair in self.imported:
            deciding = [self.top(self.chain_of_import(pair))]
        else:
            answers = self.counting(pair)
            words = [one for one in answers if one.person in self.adjudicators]
            deciding = words[-1:] or answers[: self.people]
        return [one.pointing for one in deciding if one is not None and one.answer == "present"]

    def instance_labels(self, pairs):
        """{(bag, instance, class): whether it is of the class}, without what is both claimed and denied.

        None: it cannot be said, so that it is not asked again.
        """
        found = {}
        for bag, label_class in pairs:
            for instance in range(self.sizes[bag]):
                said = self.said((bag, label_class), instance)
                verdict = self.verdict((bag, label_class), instance)
                if len(said) == 1:
                    found[bag, instance, label_class] = said.pop()
                elif verdict in ("unsure", "disputed"):
                    found[bag, instance, label_class] = None
        return found

    def said(self, pair, instance):
        """Whether an instance is claimed (True) and denied (False) for a pair."""
        said = {True for where, _ in self.pointing(pair) if instance in where}
        said |= {False for _, elsewhere in self.pointing(pair) if instance in elsewhere}
        verdict = self.verdict(pair, instance)
        if verdict == "disputed":
            return {True, False}
        return said | {False} if verdict == "absent" else said

    def disputed(self, pairs):
        """{pair: instances} that are claimed and denied for the pair, or claimed for another class too."""
        found, labels = {}, self.instance_labels(pairs)
        for bag, label_class in pairs:
            both = {i for i in range(self.sizes[bag]) if len(self.said((bag, label_class), i)) == 2}
            for b, i, c in labels:
                claimed = {d for (b2, i2, d), of_class in labels.items() if (b2, i2) == (b, i) and of_class}
                if (b, c) == (bag, label_class) and labels[b, i, c] and len(claimed) > 1:
                    both.add(i)
            if both:
                found[bag, label_class] = tuple(sorted(both))
        return found

    def all_in_effect(self):
        """(number, person, pair, answer, pointing, instance, drawn) of all actions in effect."""
        effective = [one for one in self.actions if self.in_effect(one)]
        return [
            (one.number, one.person, one.pair, one.answer, one.pointing, one.instance, one.drawn) for one in effective
        ]

    def audits(self, pairs):
        """{pair: (label, probability)} of the pairs whose first answer that counts is one to an audit."""
        decided = [pair for pair in pairs if pair not in self.imported and self.label(pair) is not None]
        first = {pair: self.counting(pair)[0].drawn for pair in decided}
        return {pair: (self.label(pair), probability) for pair, (audit, probability) in first.items() if audit}

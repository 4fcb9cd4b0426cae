"""What all clients of the matrix in Python share: what they request, what they answer, and what they print.

The README of this folder says what each scenario is.
"""

import json
import sys

CONTENT = {
    "resolution": "Duplicate",
    "duplicateOfId": 4301,
    "language": "Rust",
    "notebook": "blue",
    "text": "hi",
}

TOOLS = {
    "one-round": ("greet", {}),
    "three-rounds": ("update_work_item", {"workItemId": 4522, "fields": {}}),
    "mixed": ("mixed", {}),
    "decline": ("greet", {}),
    "cancel": ("greet", {}),
    "state-only": ("shed", {}),
    "url": ("connect", {}),
    "header": ("deploy", {"region": "us-west1"}),
    "task": ("echo_task", {}),
}


class Seen:
    """What the handlers of one run were asked, and what they answer."""

    def __init__(self, scenario):
        self.scenario = scenario
        self.asked = []

    def action(self):
        return self.scenario if self.scenario in ("decline", "cancel") else "accept"

    def form(self, message, fields):
        """The action, and the content that goes with an accept."""
        self.asked.append(f"form: {message}")
        if self.action() != "accept":
            return self.action(), None
        name = "octocat" if "GitHub" in message else "Ada"
        return "accept", {field: {**CONTENT, "name": name}[field] for field in fields}

    def url(self, url):
        self.asked.append(f"url: {url}")

    def sampling(self, text):
        self.asked.append(f"sampling: {text}")

    def roots(self):
        self.asked.append("roots")

    def tell(self, version, text, is_error=False, code=None):
        seen = {"version": version, "asked": self.asked, "text": text, "isError": is_error}
        print(json.dumps(seen if code is None else {**seen, "error": code}), flush=True)


def unsupported(why):
    print(json.dumps({"unsupported": why}), flush=True)
    sys.exit(0)


def arguments():
    """The scenario, the era, whether it is `http` or `stdio`, and the URL or the words of the command."""
    scenario, era, kind, *where = sys.argv[1:]
    return scenario, era, kind, where

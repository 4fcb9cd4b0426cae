"""The forms that the servers of the matrix in Python ask to be filled in, and how they tell what they did."""

import sys

from pydantic import BaseModel, Field


class Name(BaseModel):
    name: str


class Resolved(BaseModel):
    # As the 1.x line has no enumerations by type.
    resolution: str = Field(json_schema_extra={"enum": ["Fixed", "Won't Fix", "Duplicate", "By Design"]})


class Original(BaseModel):
    duplicateOfId: int


class Language(BaseModel):
    language: str


class Notebook(BaseModel):
    notebook: str


class Echo(BaseModel):
    text: str


CAPITAL = "What is the capital of France?"
URL = "http://127.0.0.1:9/connect"


def told(effect):
    """Says on standard error what a handler did, for the harness."""
    print(f"effect: {effect}", file=sys.stderr, flush=True)
    return effect


def greeting(action, name):
    """What `greet` says: the past tense of an action is its effect."""
    return f"Hello, {name}" if action == "accept" else told({"decline": "declined", "cancel": "cancelled"}[action])


def resolved(work_item, original):
    told("link")
    return f"Bug #{work_item} resolved as duplicate of #{original}"

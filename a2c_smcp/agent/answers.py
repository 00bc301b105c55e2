"""Answers for a model: results of tools and contents of documents as text and pictures, in the forms of the vendors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from a2c_smcp.utils.result_meta import BLOB_HANDLE, INPUT_REQUIRED, SAVED_TO

if TYPE_CHECKING:
    from a2c_smcp.smcp import ResourceContents
    from a2c_smcp.utils.results import CallToolResult

MODEL_IMAGES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
"""The picture formats that the APIs of all vendors accept. Of any other, the model gets the type and size as text."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture, in base64."""

    data: str
    mime_type: str

    @property
    def url(self) -> str:
        """The picture as a `data:` URL."""
        return f"data:{self.mime_type};base64,{self.data}"


Part: TypeAlias = Text | Image


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a tool call of a model: texts and pictures."""

    parts: tuple[Part, ...]
    """The texts and pictures, in order."""
    is_error: bool = False
    """Whether the call failed. The text says why."""

    @property
    def text(self) -> str:
        """All text, with a note in brackets for each picture."""
        return "\n\n".join(
            part.text if isinstance(part, Text) else f"[picture, {part.mime_type}]" for part in self.parts
        )

    @property
    def images(self) -> tuple[Image, ...]:
        """All pictures."""
        return tuple(part for part in self.parts if isinstance(part, Image))

    def for_anthropic(self, tool_use_id: str) -> Any:
        """A `tool_result` block for the next user message of Anthropic's Messages API."""
        content: list[dict[str, Any]] = [
            {"type": "text", "text": part.text}
            if isinstance(part, Text)
            else {"type": "image", "source": {"type": "base64", "media_type": part.mime_type, "data": part.data}}
            for part in self.parts
            if not isinstance(part, Text) or part.text.strip()  # the API rejects an empty text block
        ]
        # In an error, the API accepts text only, and requires some. `text` has a note for each picture.
        if self.is_error:
            content = [{"type": "text", "text": self.text if self.text.strip() else "The tool failed."}]
        return {"type": "tool_result", "tool_use_id": tool_use_id, "content": content, "is_error": self.is_error}

    def for_openai(self, tool_call_id: str) -> list[Any]:
        """The messages to add for OpenAI's Chat Completions, if the model made no other call in this turn."""
        return Answers({tool_call_id: self}).for_openai()

    def for_openai_responses(self, call_id: str) -> Any:
        """A `function_call_output` item for OpenAI's Responses API."""
        output = [
            {"type": "input_text", "text": part.text}
            if isinstance(part, Text)
            else {"type": "input_image", "image_url": part.url}
            for part in self.parts
        ]
        return {"type": "function_call_output", "call_id": call_id, "output": output or ""}


class Answers(dict[str, Answer]):
    """The answers to all tool calls of one turn of a model, by the id of each call.

    Each method returns what to add to the conversation, directly after the model's message.
    """

    def for_anthropic(self) -> list[Any]:
        """For Anthropic's Messages API: one message that holds the results of all calls."""
        results = [answer.for_anthropic(tool_use_id) for tool_use_id, answer in self.items()]
        return [{"role": "user", "content": results}] if results else []

    def for_openai(self) -> list[Any]:
        """For OpenAI's Chat Completions: one message for each call, and one more for all pictures.

        The API accepts text only in the answer of a tool, and no other message between the answers of one turn. The
        pictures are therefore numbered, and follow in a message of the user.
        """
        messages: list[Any] = []
        shown: list[Any] = []  # two parts for each picture: its number, and the picture
        for tool_call_id, answer in self.items():
            words: list[str] = []
            for part in answer.parts:
                if isinstance(part, Text):
                    words.append(part.text)
                    continue
                label = f"picture {len(shown) // 2 + 1}"
                words.append(f"[{label}, {part.mime_type}, is in the next message]")
                shown += [
                    {"type": "text", "text": f"{label}:"},
                    {"type": "image_url", "image_url": {"url": part.url}},
                ]
            messages.append({"role": "tool", "tool_call_id": tool_call_id, "content": "\n\n".join(words)})
        if shown:
            intro = {"type": "text", "text": "The pictures of the tools' results:"}
            messages.append({"role": "user", "content": [intro, *shown]})
        return messages

    def for_openai_responses(self) -> list[Any]:
        """For OpenAI's Responses API: one item for each call, with its pictures."""
        return [answer.for_openai_responses(call_id) for call_id, answer in self.items()]


def failed_answer(message: str) -> Answer:
    """An answer that tells the model what went wrong."""
    return Answer((Text(message),), is_error=True)


def result_answer(result: CallToolResult, max_text: int) -> Answer:
    """The answer for the result of a tool."""
    # A question is for a person. A model that sees it may answer it in the next call, or ask its user for a secret.
    if INPUT_REQUIRED in (result.meta or {}):
        return failed_answer("the tool asks a question to a person, and this program has nobody to ask")
    parts = [part for item in result.content for part in _parts_of(item)]
    # MCP asks tools to repeat a structured result as text. To show both would cost the model twice the tokens.
    if not parts and result.structured_content is not None:
        parts = [Text(json.dumps(result.structured_content, ensure_ascii=False))]
    return Answer(_shortened(parts, max_text), result.is_error)


def resource_answer(contents: Iterable[ResourceContents], max_text: int) -> Answer:
    """The answer for the contents of a resource."""
    parts: list[Part] = []
    for item in contents:
        words, blob, mime_type = item.get("text"), item.get("blob", ""), item.get("mimeType") or "binary"
        parts.append(Text(words) if words is not None else _blob(blob, mime_type, item["uri"]))
    return Answer(_shortened(parts, max_text))


def text_answer(words: str, max_text: int) -> Answer:
    """The answer for a text."""
    return Answer(_shortened([Text(words)], max_text))


def _parts_of(item: Any) -> Iterable[Part]:
    meta: dict[str, Any] = item.meta or {}
    if BLOB_HANDLE in meta:
        return  # the text after it says that it was not fetched
    if (path := meta.get(SAVED_TO)) is not None:
        yield Text(f"[{item.type}, saved to {path}]")
        return
    match item.type:
        case "text":
            yield Text(item.text)
        case "image":
            yield _blob(item.data, item.mime_type, "")
        case "audio":
            yield _mention("audio", item.mime_type, item.data)
        case "resource_link":
            yield Text(f"[{item.title or item.name}]({item.uri})")
        case _:
            resource = item.resource
            words = getattr(resource, "text", None)
            if words is not None:
                yield Text(words)
            else:
                yield _blob(resource.blob, resource.mime_type or "binary", str(resource.uri))


def _blob(data: str, mime_type: str, uri: str) -> Part:
    return Image(data, mime_type) if mime_type in MODEL_IMAGES else _mention(uri or "picture", mime_type, data)


def _mention(what: str, mime_type: str, data: str) -> Text:
    # Four characters of base64 are three bytes; up to two bytes of padding do not matter here.
    return Text(f"[{what}, {mime_type}, {len(data) * 3 // 4} bytes]")


def _shortened(parts: Iterable[Part], max_text: int) -> tuple[Part, ...]:
    """Cut the texts to `max_text` characters in all, with a note of how many are left out."""
    kept: list[Part] = []
    room = max_text
    # Texts beyond the limit become notes in their place, so that the model knows how much it does not see. Pictures do
    # not count: a part of one shows nothing.
    for part in parts:
        if isinstance(part, Image):
            kept.append(part)
            continue
        left_out = len(part.text) - room
        kept.append(part if left_out <= 0 else Text(f"{part.text[:room]}\n[… {left_out} more characters]"))
        room = max(room - len(part.text), 0)
    return tuple(kept)

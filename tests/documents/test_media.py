"""Sound and film: files that a widespread program wrote, and headers made here byte by byte as their formats say."""

from __future__ import annotations

import io
import random
import struct
import wave
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from a2c_documents.model import UnreadableFileError
from a2c_documents.parsers.media.media_file import clock, open_media


def read(path: Path, raw: bytes | None = None) -> tuple[str, dict[str, Any]]:
    """Category and content of the one element of a file."""
    if raw is not None:
        path.write_bytes(raw)
    source = open_media(path)
    assert len(source.page_titles) == 1
    elements = source.page(0).elements
    assert [(one.category, one.content) for one in elements] == [
        (one.category, one.content) for one in open_media(path).page(0).elements
    ]
    assert len(elements) == 1, elements
    return elements[0].category, elements[0].content


# ----------------------------------------------------------------------------------------------------------- real files

MADE = Path(__file__).parent.parent / "data" / "media"
TAGS = {"title": "Größe", "artist": "Björk"}
MORE_TAGS = TAGS | {"album": "Works", "date": "2024"}
SMALL = {"width": 32, "height": 16}


@pytest.mark.parametrize(
    ("name", "category", "facts"),
    [
        ("film.mp4", "video", TAGS | {"duration": 2, "codec": "H.264, AAC", "width": 16, "height": 32, "rotation": 270,
         "frame_rate": 10, "sample_rate": 8_000, "channels": 1, "languages": "eng, deu"}),
        ("fragments.mp4", "video", MORE_TAGS | SMALL | {"duration": 2, "codec": "H.264", "frame_rate": 10}),
        ("keys.mov", "video", MORE_TAGS | SMALL | {"duration": 1.001, "codec": "MPEG-4 video", "frame_rate": 29.97}),
        ("cover.m4a", "audio", MORE_TAGS | {"duration": 1, "codec": "ALAC", "sample_rate": 96_000, "channels": 2}),
        ("film.mkv", "video", TAGS | SMALL | {"duration": 2.008, "codec": "MPEG-4 video, Opus", "frame_rate": 10,
         "sample_rate": 48_000, "channels": 1}),
        ("clip.webm", "video", MORE_TAGS | SMALL | {"duration": 2, "codec": "VP8", "frame_rate": 12.5}),
        ("sound.ogg", "audio", MORE_TAGS | {"duration": 2, "codec": "Vorbis", "sample_rate": 8_000, "channels": 1}),
        ("sound.opus", "audio", MORE_TAGS | {"duration": 2, "codec": "Opus", "sample_rate": 48_000, "channels": 1}),
        ("sound.oga", "audio", MORE_TAGS | {"duration": 2, "codec": "FLAC", "sample_rate": 8_000, "channels": 1}),
        ("clip.ogv", "video", MORE_TAGS | SMALL | {"duration": 1.3, "codec": "Theora", "frame_rate": 10}),
        ("cover.flac", "audio", MORE_TAGS | {"duration": 2, "codec": "FLAC", "sample_rate": 8_000, "channels": 6}),
        ("book.mp3", "audio", TAGS | {"duration": 2.16, "codec": "MP3", "sample_rate": 8_000, "channels": 1}),
        ("clip.avi", "video", MORE_TAGS | SMALL | {"duration": 2.16, "codec": "FMP4, MP3", "frame_rate": 29.97,
         "sample_rate": 8_000, "channels": 1}),
        ("clip.mpg", "video", SMALL | {"duration": 0.58, "codec": "MPEG video, MPEG layer II", "frame_rate": 25,
         "sample_rate": 32_000, "channels": 1}),
        ("sound.aac", "audio", {"duration": 2.176, "codec": "AAC", "sample_rate": 8_000, "channels": 1}),
        ("sound.aiff", "audio", MORE_TAGS | {"duration": 0.2, "codec": "PCM 16 bit", "sample_rate": 8_000}),
        ("pipe.wav", "audio", {"duration": 0.2, "codec": "PCM 16 bit", "sample_rate": 8_000, "channels": 1}),
    ],
)  # fmt: skip
def test_real_files_say_what_other_programs_say_of_them(name: str, category: str, facts: dict[str, Any]) -> None:
    element = open_media(MADE / name).page(0).elements[0]
    assert element.category == category
    assert element.content["mime"].startswith(category)
    assert {key: element.content.get(key) for key in facts} == facts


@pytest.mark.parametrize("name", ["film.mp4", "film.mkv", "book.mp3"])
def test_chapters_are_a_list(name: str) -> None:
    lists = [one.content["items"] for one in open_media(MADE / name).page(0).elements if one.category == "list"]
    assert lists == [["0:00 First", "0:01 Second"]]


@pytest.mark.parametrize("name", ["cover.m4a", "cover.flac", "film.mkv", "book.mp3"])
def test_the_cover_is_a_picture(name: str) -> None:
    (cover,) = [one for one in open_media(MADE / name).page(0).elements if one.category == "image"]
    assert cover.picture is not None
    mime, raw = cover.picture()
    with Image.open(io.BytesIO(raw)) as picture:
        assert picture.size == (4, 4)
        assert Image.MIME[str(picture.format)] == mime


def test_real_files_may_be_cut_off_and_damaged_anywhere(tmp_path: Path) -> None:
    chance = random.Random(11)
    for original in sorted(MADE.iterdir()):
        whole = original.read_bytes()
        path = tmp_path / original.name
        for _ in range(40):
            raw = bytearray(whole)
            for _ in range(chance.randrange(4)):
                raw[chance.randrange(len(raw))] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
            path.write_bytes(raw[: chance.randrange(1, len(raw) + 1)])
            assert open_media(path).page(0).elements[0].category in ("audio", "video")


# ---------------------------------------------------------------------------------------------------------------- sound


def riff(kind: bytes, *chunks: tuple[bytes, bytes]) -> bytes:
    body = kind + b"".join(chunk(*one) for one in chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def chunk(name: bytes, body: bytes) -> bytes:
    return name + struct.pack("<I", len(body)) + body + b"\x00" * (len(body) % 2)


def test_wav_tells_length_rate_and_channels(tmp_path: Path) -> None:
    path = tmp_path / "beep.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(2)
        file.setsampwidth(2)
        file.setframerate(8_000)
        file.writeframes(b"\x00" * 4 * 8_000 * 3)
    category, content = read(path)
    assert category == "audio"
    assert content["duration"] == 3
    assert (content["sample_rate"], content["channels"], content["bit_rate"]) == (8_000, 2, 256_000)
    assert content["text"] == "WAV audio, PCM 16 bit, 0:03, 8 kHz, stereo, 96,044 bytes"
    assert (content["mime"], content["bytes"]) == ("audio/wav", 96_044)


def test_wav_has_tags(tmp_path: Path) -> None:
    path = tmp_path / "song.wav"
    info = b"INFO" + chunk(b"INAM", b"A song\x00") + chunk(b"IART", "Zoë\x00".encode()) + chunk(b"IPRD", b"Album\x00")
    layout = struct.pack("<HHIIHH", 1, 1, 8_000, 16_000, 2, 16)
    path.write_bytes(riff(b"WAVE", (b"fmt ", layout), (b"LIST", info), (b"data", b"\x00" * 16_000)))
    facts = open_media(path).facts
    assert (facts.title, facts.author) == ("A song", "Zoë")
    assert open_media(path).page_titles == ["A song"]
    assert read(path)[1]["album"] == "Album"


def seven(value: int) -> bytes:
    return bytes(value >> shift & 0x7F for shift in (21, 14, 7, 0))


def mp3(*, frames: int = 0, count: int = 100) -> bytes:
    """MPEG 1, layer III, 128 kbit/s, 44.1 kHz, joint stereo; `frames` as an Info frame would say."""
    first = bytearray(b"\xff\xfb\x90\x44" + bytes(413))
    if frames:
        first[36:48] = b"Xing" + struct.pack(">II", 1, frames)
    return bytes(first) + (b"\xff\xfb\x90\x44" + bytes(413)) * count


def id3(version: int, *frames: tuple[bytes, bytes]) -> bytes:
    body = b"".join(
        name
        + (seven(len(words)) if version == 4 else struct.pack(">I", len(words))[1 if version == 2 else 0 :])
        + (b"" if version == 2 else b"\x00\x00")
        + words
        for name, words in frames
    )
    body += bytes(30)
    return b"ID3" + bytes([version, 0, 0]) + seven(len(body)) + body


def test_mp3_is_as_long_as_its_bytes_say(tmp_path: Path) -> None:
    category, content = read(tmp_path / "a.mp3", mp3())
    assert category == "audio"
    assert (content["sample_rate"], content["channels"], content["bit_rate"]) == (44_100, 2, 128_000)
    assert content["duration"] == pytest.approx(101 * 417 * 8 / 128_000, abs=0.001)


def test_mp3_of_variable_rate_is_as_long_as_its_frames(tmp_path: Path) -> None:
    _, content = read(tmp_path / "a.mp3", mp3(frames=8_000))
    assert content["duration"] == pytest.approx(8_000 * 1_152 / 44_100, abs=0.001)


@pytest.mark.parametrize(
    ("version", "names"),
    [(2, (b"TT2", b"TP1", b"TAL")), (3, (b"TIT2", b"TPE1", b"TALB")), (4, (b"TIT2", b"TPE1", b"TALB"))],
)
def test_mp3_has_tags_of_every_version(tmp_path: Path, version: int, names: tuple[bytes, ...]) -> None:
    texts = (b"\x01" + "曲".encode("utf-16"), b"\x00Bj\xf6rk", b"\x03" + "Größe".encode())
    tag = id3(version, *zip(names, texts, strict=True))
    _, content = read(tmp_path / "a.mp3", tag + mp3())
    assert (content["title"], content["artist"], content["album"]) == ("曲", "Björk", "Größe")
    assert content["sample_rate"] == 44_100


def test_mp3_has_tags_at_its_end(tmp_path: Path) -> None:
    tag = b"TAG" + b"Title".ljust(30, b"\x00") + b"Artist".ljust(30) + b"Album".ljust(30, b"\x00") + b"1999" + bytes(31)
    _, content = read(tmp_path / "a.mp3", mp3() + tag)
    assert (content["title"], content["artist"], content["album"], content["date"]) == (
        "Title", "Artist", "Album", "1999"
    )  # fmt: skip


def comments(**tags: str) -> bytes:
    entries = [f"{name}={value}".encode() for name, value in tags.items()]
    body = b"".join(struct.pack("<I", len(entry)) + entry for entry in entries)
    return struct.pack("<I", 4) + b"test" + struct.pack("<I", len(entries)) + body


def test_flac_tells_its_stream_and_tags(tmp_path: Path) -> None:
    stream = bytes(10) + (44_100 << 44 | 1 << 41 | 15 << 36 | 44_100 * 65).to_bytes(8, "big") + bytes(16)
    tags = comments(TITLE="Suite", artist="Ensemble", ALBUM="Works", DATE="2001")
    raw = b"fLaC\x00" + len(stream).to_bytes(3, "big") + stream + b"\x84" + len(tags).to_bytes(3, "big") + tags
    _, content = read(tmp_path / "a.flac", raw)
    assert content["duration"] == 65
    assert (content["sample_rate"], content["channels"]) == (44_100, 2)
    assert (content["title"], content["artist"], content["album"]) == ("Suite", "Ensemble", "Works")
    assert content["text"].startswith("FLAC audio “Suite” by Ensemble, 1:05, 44.1 kHz, stereo")


def ogg_page(packet: bytes, position: int, number: int) -> bytes:
    table = bytes([255] * (len(packet) // 255) + [len(packet) % 255])
    head = b"OggS\x00\x00" + struct.pack("<qIIIB", position, 7, number, 0, len(table))
    return head + table + packet


def test_opus_and_vorbis_tell_length_and_tags(tmp_path: Path) -> None:
    opus = b"OpusHead\x01\x02" + struct.pack("<HIHB", 312, 44_100, 0, 0)
    raw = ogg_page(opus, 0, 0) + ogg_page(b"OpusTags" + comments(TITLE="Talk" * 100), 0, 1)
    _, content = read(tmp_path / "a.opus", raw + ogg_page(b"sound", 48_000 * 10 + 312, 2))
    assert (content["duration"], content["channels"], content["codec"]) == (10, 2, "Opus")
    assert content["title"] == "Talk" * 100
    vorbis = b"\x01vorbis" + struct.pack("<IBIIIIBB", 0, 1, 22_050, 0, 0, 0, 0, 1)
    raw = ogg_page(vorbis, 0, 0) + ogg_page(b"\x03vorbis" + comments(ARTIST="Ada"), 0, 1)
    _, content = read(tmp_path / "a.ogg", raw + ogg_page(b"sound", 22_050 * 4, 2))
    assert (content["duration"], content["sample_rate"], content["artist"]) == (4, 22_050, "Ada")


def test_a_large_comment_in_ogg_is_read_at_once(tmp_path: Path) -> None:
    head = b"OpusHead\x01\x02" + struct.pack("<HIHB", 312, 44_100, 0, 0)
    packet = b"OpusTags" + comments(TITLE="Talk", METADATA_BLOCK_PICTURE="A" * 3_000_000)
    raw = ogg_page(head, 0, 0)
    for number, start in enumerate(range(0, len(packet), 255 * 255), 1):
        part = packet[start : start + 255 * 255]
        whole = len(part) == 255 * 255
        table = bytes([255] * (len(part) // 255) + ([] if whole else [len(part) % 255]))
        raw += b"OggS\x00\x00" + struct.pack("<qIIIB", -1 if whole else 0, 7, number, 0, len(table)) + table + part
    _, content = read(tmp_path / "a.opus", raw + ogg_page(b"sound", 48_000 * 10 + 312, 99))
    assert (content["title"], content["duration"]) == ("Talk", 10)


def test_aiff_tells_length_and_name(tmp_path: Path) -> None:
    def big(name: bytes, body: bytes) -> bytes:
        return name + struct.pack(">I", len(body)) + body + b"\x00" * (len(body) % 2)

    rate = struct.pack(">HQ", 16_398, 44_100 << 48)
    body = (
        b"AIFF"
        + big(b"COMM", struct.pack(">HIH", 1, 88_200, 16) + rate)
        + big(b"NAME", b"Bell")
        + big(b"SSND", bytes(8))
    )
    _, content = read(tmp_path / "a.aiff", b"FORM" + struct.pack(">I", len(body)) + body)
    assert (content["duration"], content["sample_rate"], content["channels"], content["title"]) == (
        2,
        44_100,
        1,
        "Bell",
    )


# ----------------------------------------------------------------------------------------------------------------- film


def box(name: bytes, *inside: bytes) -> bytes:
    body = b"".join(inside)
    return struct.pack(">I", len(body) + 8) + name + body


def mp4_track(handler: bytes, codec: bytes, *, width: int = 0, height: int = 0, sound: bool = False) -> bytes:
    head = box(b"tkhd", bytes(76), struct.pack(">II", width << 16, height << 16))
    entry = bytes(8) + (bytes(8) + struct.pack(">HHIHH", 2, 16, 0, 48_000, 0) if sound else bytes(70))
    samples = box(b"stsd", struct.pack(">II", 0, 1), box(codec, entry))
    kind = box(b"hdlr", bytes(8), handler, bytes(13))
    return box(b"trak", head, box(b"mdia", kind, box(b"minf", box(b"stbl", samples))))


def mp4_tags(**tags: str) -> bytes:
    items = [
        box(b"\xa9" + name.encode(), box(b"data", struct.pack(">II", 1, 0), words.encode()))
        for name, words in tags.items()
    ]
    return box(b"udta", box(b"meta", bytes(4), box(b"hdlr", bytes(25)), box(b"ilst", *items)))


MOVIE_HEADER = box(b"mvhd", bytes(12), struct.pack(">II", 600, 600 * 3_725), bytes(80))


def test_mp4_tells_length_size_codecs_and_tags(tmp_path: Path) -> None:
    tracks = (
        mp4_track(b"vide", b"avc1", width=1_280, height=720),
        mp4_track(b"soun", b"mp4a", sound=True),
    )
    movie = box(b"moov", MOVIE_HEADER, *tracks, mp4_tags(nam="Holiday", ART="Ada"))
    raw = box(b"ftyp", b"isom", bytes(4)) + box(b"mdat", bytes(1_000)) + movie
    category, content = read(tmp_path / "a.mp4", raw)
    assert category == "video"
    assert (content["duration"], content["width"], content["height"]) == (3_725, 1_280, 720)
    assert (content["sample_rate"], content["channels"], content["codec"]) == (48_000, 2, "H.264, AAC")
    assert (content["title"], content["artist"]) == ("Holiday", "Ada")
    assert "1:02:05" in content["text"]


def test_m4a_is_sound(tmp_path: Path) -> None:
    movie = box(b"moov", MOVIE_HEADER, mp4_track(b"soun", b"mp4a", sound=True), mp4_tags(alb="Tales"))
    category, content = read(tmp_path / "a.m4a", box(b"ftyp", b"M4A ", bytes(4)) + movie)
    assert category == "audio"
    assert (content["album"], content["mime"]) == ("Tales", "audio/mp4")


def ebml(identity: int, *inside: bytes) -> bytes:
    body = b"".join(inside)
    return identity.to_bytes((identity.bit_length() + 7) // 8, "big") + (len(body) | 1 << 56).to_bytes(8, "big") + body


def matroska(*, unknown_size: bool = False) -> bytes:
    info = ebml(
        0x1549A966, ebml(0x2AD7B1, b"\x0f\x42\x40"), ebml(0x4489, struct.pack(">d", 90_500.0)), ebml(0x7BA9, b"Clip")
    )
    video = ebml(
        0xAE, ebml(0x83, b"\x01"), ebml(0x86, b"V_VP9"), ebml(0xE0, ebml(0xB0, b"\x07\x80"), ebml(0xBA, b"\x04\x38"))
    )
    audio = ebml(
        0xAE,
        ebml(0x83, b"\x02"),
        ebml(0x86, b"A_OPUS"),
        ebml(0xE1, ebml(0xB5, struct.pack(">f", 48_000)), ebml(0x9F, b"\x02")),
    )
    tags = ebml(0x1254C367, ebml(0x7373, ebml(0x67C8, ebml(0x45A3, b"ARTIST"), ebml(0x4487, b"Ada"))))
    inside = [info, ebml(0x1654AE6B, video, audio), ebml(0x1F43B675, bytes(500)), tags]
    segment = ebml(0x18538067, *inside)
    if unknown_size:
        segment = b"\x18\x53\x80\x67\x01" + b"\xff" * 7 + b"".join(inside)
    return ebml(0x1A45DFA3, ebml(0x4282, b"webm")) + segment


@pytest.mark.parametrize("unknown_size", [False, True])
def test_webm_tells_length_tracks_and_tags(tmp_path: Path, unknown_size: bool) -> None:
    category, content = read(tmp_path / "a.webm", matroska(unknown_size=unknown_size))
    assert category == "video"
    assert (content["duration"], content["width"], content["height"]) == (90.5, 1_920, 1_080)
    assert (content["codec"], content["sample_rate"], content["channels"]) == ("VP9, Opus", 48_000, 2)
    assert (content["title"], content["artist"], content["format"]) == ("Clip", "Ada", "WebM")


def test_avi_tells_length_and_streams(tmp_path: Path) -> None:
    main = struct.pack("<10I", 40_000, 0, 0, 0, 250, 0, 2, 0, 640, 480) + bytes(16)
    sound = struct.pack("<HHIIHH", 0x55, 2, 44_100, 16_000, 1, 0)
    head = b"hdrl" + chunk(b"avih", main)
    head += chunk(b"LIST", b"strl" + chunk(b"strh", b"vidsXVID" + bytes(48)) + chunk(b"strf", bytes(40)))
    head += chunk(b"LIST", b"strl" + chunk(b"strh", b"auds" + bytes(52)) + chunk(b"strf", sound))
    info = b"INFO" + chunk(b"INAM", b"Match\x00")
    raw = riff(b"AVI ", (b"LIST", head), (b"LIST", info), (b"LIST", b"movi" + bytes(100)))
    category, content = read(tmp_path / "a.avi", raw)
    assert category == "video"
    assert (content["duration"], content["width"], content["height"], content["frame_rate"]) == (10, 640, 480, 25)
    assert (content["codec"], content["sample_rate"], content["title"]) == ("XVID, MP3", 44_100, "Match")


# -------------------------------------------------------------------------------------------------------------- hostile


def test_file_is_known_by_its_bytes_whatever_its_name(tmp_path: Path) -> None:
    category, content = read(tmp_path / "a.mp4", mp3())
    assert (category, content["mime"], content["format"]) == ("audio", "audio/mpeg", "MP3")
    assert content["sample_rate"] == 44_100


@pytest.mark.parametrize("name", ["a.mp3", "a.mp4", "a.mkv", "a.ogg", "a.mpg", "a.mid", "a.aac"])
def test_header_that_is_not_understood_still_gives_size_and_type(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"not at all what it should be" * 10)
    element, remark = open_media(path).page(0).elements
    assert element.category in ("audio", "video")
    assert element.content["bytes"] == 280
    assert element.content["mime"].startswith(element.category)
    assert remark.category == "annotation"


def test_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    path.write_bytes(b"")
    with pytest.raises(UnreadableFileError):
        open_media(path)


def test_no_damage_is_a_danger(tmp_path: Path) -> None:
    chance = random.Random(7)
    movie = box(b"ftyp", b"isom", bytes(4)) + box(b"moov", MOVIE_HEADER, mp4_track(b"vide", b"avc1", width=8, height=8))
    opus = ogg_page(b"OpusHead\x01\x02" + bytes(9), 0, 0) + ogg_page(b"OpusTags" + comments(TITLE="x"), 480, 1)
    samples = [id3(3, (b"TIT2", b"\x00x")) + mp3(count=2), movie, matroska(), opus, b"fLaC\x00\x00\x00\x22" + bytes(34)]
    path = tmp_path / "a.mp4"
    for round_ in range(400):
        raw = bytearray(samples[round_ % len(samples)])
        for _ in range(chance.randrange(1, 6)):
            raw[chance.randrange(4, len(raw))] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
        path.write_bytes(raw[: chance.randrange(5, len(raw) + 1)])
        elements = open_media(path).page(0).elements
        assert elements[0].category in ("audio", "video")


@pytest.mark.parametrize(("seconds", "shown"), [(0.25, "0.25 s"), (59.6, "1:00"), (205, "3:25"), (3_723, "1:02:03")])
def test_lengths_are_written_as_people_do(seconds: float, shown: str) -> None:
    assert clock(seconds) == shown

"""
Lists what a start has to apply of the journal in a data directory, as docs/internals/journal.md and
docs/internals/data-directory.md say, and with nothing of the server's code. Python 3.10, without packages.

    python3 read_journal.py DIRECTORY…

prints one line of JSON for each: {"frames": […], "lastVersion": N, "changes": [[key, value or null, version], …]} with
keys and values in hexadecimal, or {"refused": why}.
"""

import json
import os
import re
import struct
import sys
import zlib

BLOCK = 4096
PAGE = 8192
NOTE_KEY = b"\x02~\x00\x02journal\x00"


class Refused(Exception):
    pass


# The data file: the note.


def page_of(data, number):
    return data[number * PAGE : (number + 1) * PAGE]


def nodes_of(page):
    """Flags, key, number (length or page) and what follows the key, of each node of a page."""
    (lower,) = struct.unpack_from("<H", page, 20)
    for index in range(lower // 2):
        (at,) = struct.unpack_from("<H", page, 24 + 2 * index)
        at += 24
        low, flags, key_bytes = struct.unpack_from("<IHH", page, at)
        key = page[at + 8 : at + 8 + key_bytes]
        yield flags, key, low, page[at + 8 + key_bytes :]


def value_in_tree(data, root, depth, key):
    """The value of a key, from the page down that is the root of a tree. A key of a branch is the least below it."""
    if root == 2**64 - 1:
        return None
    for _ in range(depth - 1):
        below = None
        for index, (flags, least, low, _) in enumerate(nodes_of(page_of(data, root))):
            if index == 0 or least <= key:
                below = low | flags << 32
        root = below
    for flags, found, length, rest in nodes_of(page_of(data, root)):
        if found == key:
            assert flags & 1 == 0, "a note is short, so it has no pages of its own"
            return rest[:length]
    return None


def note_of(directory):
    with open(os.path.join(directory, "data.mdb"), "rb") as file:
        data = file.read()
    heads = [page_of(data, number)[24:] for number in (0, 1)]
    head = max(heads, key=lambda each: struct.unpack_from("<Q", each, 128))
    (depth,) = struct.unpack_from("<H", head, 72 + 6)
    (root,) = struct.unpack_from("<Q", head, 72 + 40)
    # The main tree has the heads of the trees, by their names.
    entries = value_in_tree(data, root, depth, b"entries\x00")
    if entries is None:
        return None
    (depth,) = struct.unpack_from("<H", entries, 6)
    (root,) = struct.unpack_from("<Q", entries, 40)
    record = value_in_tree(data, root, depth, NOTE_KEY)
    return None if record is None else record[8:-4]


class Note:
    def __init__(self, value):
        if value is None:
            self.sequence = self.generation = self.secret = self.file = 0
            self.needs_journal = False
            return
        self.sequence, self.generation, no_journal, self.secret, self.file = struct.unpack("<QQIIQ", value)
        self.needs_journal = no_journal == 0


# The journal.


class File:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.content = file.read()
        first, last = head_in(self.content[:BLOCK]), head_in(self.content[BLOCK:][-BLOCK:])
        self.head = first or last
        self.has_second_head = last is not None
        self.frames = []
        self.links = []
        if self.head is None:
            return
        self.format, self.number, self.generation, self.first_sequence, chance, *predecessor = self.head
        self.secret = zlib.crc32(chance)
        self.predecessor = tuple(predecessor)
        if self.format == 1:
            self.read_blocks()

    def read_blocks(self):
        at = BLOCK
        while at < len(self.content):
            frame = frame_at(self.content, at, self.secret)
            if frame is None:
                link = link_at(self.content, at, self.secret)
                if link is not None:
                    self.links.append(link)
                at += BLOCK
            else:
                self.frames.append(frame)
                at += -(-frame["length"] // BLOCK) * BLOCK


def head_in(block):
    if len(block) < BLOCK or block[:4] != b"TJRN":
        return None
    if struct.unpack_from("<I", block, 4)[0] != zlib.crc32(block[8:60]):
        return None
    return struct.unpack_from("<IIQQ16sQI", block, 8)


def frame_at(content, at, secret):
    if content[at : at + 4] != b"TFRM" or at + 40 > len(content):
        return None
    checksum, length, kind, sequence, last_version, count = struct.unpack_from("<IIIQQI", content, at + 4)
    if length < 40 or at + length > len(content):
        return None
    if zlib.crc32(content[at + 8 : at + length], secret) != checksum:
        return None
    changes = []
    place = at + 40
    for _ in range(count):
        key_bytes, kind_of_change, value_bytes, version = struct.unpack_from("<HHIQ", content, place)
        key = content[place + 16 : place + 16 + key_bytes]
        place += 16 + key_bytes
        value = content[place : place + value_bytes]
        place += value_bytes
        changes.append((key, value if kind_of_change == 1 else None, version))
    frame = {"length": length, "sequence": sequence, "last_version": last_version, "changes": changes}
    return {**frame, "is_restart": kind == 1}


def link_at(content, at, secret):
    if content[at : at + 4] != b"TLNK" or at + 24 > len(content):
        return None
    checksum, number, _, sequence = struct.unpack_from("<IIIQ", content, at + 4)
    return (number, sequence) if zlib.crc32(content[at + 8 : at + 24], secret) == checksum else None


def files_of(directory):
    journal = os.path.join(directory, "journal")
    openings = set()
    files = []
    for name in sorted(os.listdir(journal)) if os.path.isdir(journal) else []:
        form = re.fullmatch(r"([1-9]\d*)(\.old)?", name)
        if form is None:
            continue
        if form[1] in openings:
            raise Refused(f"two folders stand for opening {form[1]}")
        openings.add(form[1])
        folder = os.path.join(journal, name)
        files += [File(os.path.join(folder, each)) for each in sorted(os.listdir(folder))]
    return [file for file in files if file.head is not None]


def counted(parts, file, files, sequence_of):
    ends = [each.first_sequence for each in files if each.generation > file.generation]
    return [part for part in parts if all(sequence_of(part) < end for end in ends)]


def frames_to_apply(note, files):
    refuse_unreadable(files)
    lineage = lineage_of(note, files)
    own = [file for file in files if lineage.get(file.generation) == file.secret]
    begun = [file for file in files if was_only_begun(file, lineage)]
    if note.needs_journal and (note.generation, note.file) not in {(file.generation, file.number) for file in own}:
        raise Refused("the file that the note names is not there")
    if len(own) + len(begun) < len(files):
        raise Refused("a file belongs to other data")
    frames = []
    for file in own:
        frames += counted(file.frames, file, own, lambda frame: frame["sequence"])
    frames.sort(key=lambda frame: frame["sequence"])
    frames = [frame for frame in frames if frame["sequence"] > note.sequence]
    if frames and not note.needs_journal:
        raise Refused("there are frames that the data never had")
    refuse_older_copies(note, own, frames)
    refuse_gaps(note, files, frames)
    if note.needs_journal:
        refuse_lost_files(own, note.sequence)
        refuse_cut_files(note, own)
    return frames


def lineage_of(note, files):
    lineage = {note.generation: note.secret}
    while True:
        known = [file for file in files if lineage.get(file.generation) == file.secret]
        further = dict(file.predecessor for file in known)
        if all(generation in lineage for generation in further):
            return lineage
        lineage = {**further, **lineage}


def was_only_begun(file, lineage):
    before, secret = file.predecessor
    is_next = not any(before < generation <= file.generation for generation in lineage)
    return is_next and lineage.get(before) == secret and not file.frames


def refuse_older_copies(note, own, frames):
    if any(frame["is_restart"] for frame in frames[1:]):
        raise Refused("the data are from before a snapshot was restored")
    if not note.needs_journal:
        return
    [file] = [file for file in own if (file.generation, file.number) == (note.generation, note.file)]
    if file.first_sequence <= note.sequence and note.sequence not in {frame["sequence"] for frame in file.frames}:
        raise Refused(f"{file.path} is an older copy")


def refuse_gaps(note, files, frames):
    following = note.sequence + 1 + len(frames)
    if [frame["sequence"] for frame in frames] != list(range(note.sequence + 1, following)):
        raise Refused("a frame is missing between others")
    if any(file.first_sequence > following for file in files):
        raise Refused("a frame is missing before the first one of a generation")


def refuse_unreadable(files):
    seen = set()
    for file in files:
        if file.format != 1:
            raise Refused(f"{file.path} has format {file.format}")
        if (file.generation, file.number) in seen:
            raise Refused(f"{file.path} is there twice")
        seen.add((file.generation, file.number))


def refuse_lost_files(files, covered):
    for file in files:
        for number, sequence in counted(file.links, file, files, lambda link: link[1]):
            is_there = any((each.generation, each.number) == (file.generation, number) for each in files)
            if sequence > covered and not is_there:
                raise Refused(f"file {number}, which {file.path} names, is not there")


def refuse_cut_files(note, files):
    last = max((file.generation for file in files), default=0)
    of_last = [file for file in files if file.generation == last]
    linked = {number for file in of_last for number, _ in file.links}
    for file in of_last:
        end = max((frame["sequence"] for frame in file.frames), default=0)
        if file.has_second_head or any(sequence > end for _, sequence in file.links):
            continue
        is_named = (file.generation, file.number) == (note.generation, note.file) or file.number in linked
        if file.frames or is_named:
            raise Refused(f"{file.path} has lost its end")


def listing(directory):
    try:
        frames = frames_to_apply(Note(note_of(directory)), files_of(directory))
    except Refused as why:
        return {"refused": str(why)}
    last = {}
    for frame in frames:
        for key, value, version in frame["changes"]:
            last[key] = (value, version)
    changes = [[key.hex(), None if value is None else value.hex(), version] for key, (value, version) in sorted(last.items())]
    last_version = max((frame["last_version"] for frame in frames), default=0)
    return {"frames": [frame["sequence"] for frame in frames], "lastVersion": last_version, "changes": changes}


for directory in sys.argv[1:]:
    print(json.dumps(listing(directory)))

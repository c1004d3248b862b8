"""One way in and one way out for files that may be compressed, and the numbers in them."""

from __future__ import annotations

import numpy as np
import pytest

from rankforce.formats import lines
from rankforce.formats.cells import MISSING, parse_numbers
from rankforce.formats.lines import read_numbers
from rankforce.formats.streams import Source, open_output, split_packing


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.zst", "A.GZ"])
def test_what_is_written_is_read(tmp_path, name):
    text = b"".join(b"%d\n" % number for number in range(9999))
    with open_output(tmp_path / name) as stream:
        stream.write(text)
        assert list(tmp_path.glob("[aA]*")) == []  # not before all is there
    assert ((tmp_path / name).read_bytes() == text) == (name == "a.txt")
    (tmp_path / name).rename(tmp_path / "other")  # the bytes tell, and not the name
    with Source(tmp_path / "other") as source:
        assert source.read(5) == b"0\n1\n2"
        assert 0 < source.share <= 1
        assert source.read() == text[5:]
        assert source.share == 1
    assert source.closed
    assert source.share == 1


def test_an_error_leaves_the_old_file(tmp_path):
    (tmp_path / "a.gz").write_bytes(b"old")

    def stop():
        with open_output(tmp_path / "a.gz") as stream:
            stream.write(b"new")
            raise KeyError

    with pytest.raises(KeyError):
        stop()
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_names_without_their_packing():
    assert split_packing("a.csv.GZ") == ("a.csv", ".gz")
    assert split_packing("a.gzip") == ("a.gzip", "")


@pytest.mark.parametrize("name", ["a.weight", "a.weight.gz"])
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_numbers_one_a_line(tmp_path, monkeypatch, name, size):
    """Blank lines, and what is not finite, are for a closer look."""
    monkeypatch.setattr(lines, "BLOCK_BYTES", size)
    texts = ["1", "", "-2.5e-3", "+1", " ", "nan", "-inf", " 7 ", "0.1"] * 20
    with open_output(tmp_path / name) as stream:
        stream.write("\n".join(texts).encode())
    expected = [float(text) for text in texts if text.strip()]
    np.testing.assert_array_equal(read_numbers(tmp_path / name), expected)


def test_a_line_that_is_no_number_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 64)
    (tmp_path / "a").write_text("1\n" * 500 + "\n1 2\n3\n")
    with pytest.raises(ValueError, match=r"a, line 502: '1 2': expected one number$"):
        read_numbers(tmp_path / "a")


@pytest.mark.parametrize(
    "odd", ["x", "inf", "1e999", "NAN", "nan(1)", "1_0", '"1"', "1,2", "1\r2", "1\0"]
)
def test_odd_cells_need_a_closer_look(odd):
    text = f"1\n{odd}\n\n".encode()
    assert parse_numbers(text, 1, missing=MISSING) is None
    expected = [[1.0], [np.nan], [np.nan]]
    plain = parse_numbers(b"1\nNA\n\n", 1, missing=MISSING)
    np.testing.assert_array_equal(plain, expected)


def test_empty_lines_are_no_rows_of_several_cells():
    assert parse_numbers(b"1,2\n\n", 2, missing=MISSING) is None
    assert parse_numbers(b"1\n\n2\n", 1) is None

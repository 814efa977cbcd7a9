"""Converters on a few lines in the format of each source, written for the purpose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from coterie.bench.convert import CONVERTERS
from coterie.bench.convert.archives import without_footer, without_quotations
from coterie.bench.convert.rows import Row, SourceFile, tsv_bytes
from coterie.bench.records import data_set
from coterie.errors import InputError


def converted(name: str, files: Mapping[str, str | bytes], **options: Any) -> list[Row]:
    source = data_set(name).source
    assert source is not None
    given = [SourceFile(path, data.encode() if isinstance(data, str) else data) for path, data in files.items()]
    return list(CONVERTERS[source.converter](given, {**source.options, **options}))


def test_aecl_columns_by_name() -> None:
    text = 'label,text0,text1\n3,"oil, and ""gas""",oil\n12,null,x\n7,,y\n'
    assert converted("tweet", {"tweet.csv": text}) == [("3", 'oil, and "gas"'), ("12", "null"), ("7", ".")]
    assert converted("tweet_eda", {"tweet.csv": text})[0] == ("3", 'oil, and "gas"', "oil")


def test_rstc_columns_whatever_is_between_them() -> None:
    text = "label,text,,text1,text2\n67,easy recipe,,easy meal,quick recipe\n"
    assert converted("tweet_context10", {"t.csv": text}) == [("67", "easy recipe", "easy meal", "quick recipe")]


def test_stc2_texts_and_labels_are_two_files() -> None:
    texts = "\ufeffHow do I  page\twith LINQ? \r\nＶＢＡ　cells\r\n"
    assert converted("stackoverflow", {"a.txt": texts, "a_gnd.txt": "18\r\n5\r\n"}) == [
        ("18", "How do I  page with LINQ?"),
        ("5", "ＶＢＡ　cells"),
    ]
    with pytest.raises(InputError, match="2 texts, but 1 labels"):
        converted("stackoverflow", {"a.txt": "one\ntwo\n", "a_gnd.txt": "1\n"})


def test_tab_separated() -> None:
    assert converted("googlenews_ts", {"TS": "1\twinter white gala\n152\tcomet\n"}) == [
        ("1", "winter white gala"),
        ("152", "comet"),
    ]
    with pytest.raises(InputError, match=r"TS: line 2 has no tab"):
        converted("googlenews_ts", {"TS": "1\ta\nb\n"})


def test_json_lines_with_an_empty_text() -> None:
    lines = '{"text": "winter gala", "cluster": 65}\n{"text": "", "cluster": 2}\n'
    assert converted("googlenews_t_orig", {"T": lines}) == [("65", "winter gala"), ("2", ".")]
    with pytest.raises(InputError, match="line 1 is not"):
        converted("googlenews_t_orig", {"T": '{"txt": 1}\n'})


def test_numbered_classes() -> None:
    rows = '"3","Oil, again","Prices broke\\beneath  (\\$30) ""now"""\n"4","Moon","Near"\n'
    assert converted("agnews_raw", {"test.csv": rows}) == [
        ("Business", 'Oil, again Prices broke beneath ( $30) "now"'),
        ("Sci/Tech", "Moon Near"),
    ]
    assert converted("agnews_desc", {"val.csv": '"1","A"\n', "test.csv": '"2","B"\n'}) == [
        ("Sports", "A"),
        ("Sci/Tech", "B"),
    ]
    with pytest.raises(InputError, match="row 1 has class '15', not 1 to 14"):
        converted("dbpedia14", {"val.csv": '"15","x"\n'})


def test_second_level_of_the_ontology() -> None:
    rows = '9,6,"John (called \\""Jan\\"") is a saint: \\n*  one"\n1,10,"A cup"\n'
    assert converted("dbpedia_l2", {"val.csv": rows}) == [
        ("6", 'John (called "Jan") is a saint: * one'),
        ("10", "A cup"),
    ]


def test_yelp_labels() -> None:
    rows = 'text,label1,label2\n"Good.  ""Very""",Business Category: Beauty & Spas,Review Stars: 4.0\n'
    assert converted("yelp5", {"dev.csv": rows}) == [("4", 'Good. "Very"')]
    assert converted("yelp_category", {"dev.csv": rows}) == [("Beauty & Spas", 'Good. "Very"')]
    with pytest.raises(InputError, match="no column 'label2'"):
        converted("yelp5", {"dev.csv": "text,label1\na,b\n"})


def test_trec_is_latin_1() -> None:
    data = "DESC:manner How did it end ?\nLOC:city Which sister\xf0city ?\n".encode("latin-1")
    assert converted("trec6", {"TREC.train": data}) == [("DESC", "How did it end ?"), ("LOC", "Which sister\xf0city ?")]


def test_askubuntu() -> None:
    corpus = '{"sentences": [{"text": "Which  viewer?", "intent": "None"}, {"text": "b", "intent": "Make Update"}]}'
    assert converted("askubuntu", {"c.json": corpus}) == [("Other", "Which viewer?"), ("Make Update", "b")]
    with pytest.raises(InputError, match="no corpus"):
        converted("askubuntu", {"c.json": "[1]"})


NEWS = """<REUTERS TOPICS="{topics}" LEWISSPLIT="{split}" NEWID="1">
<TOPICS>{names}</TOPICS>
<TEXT{kind}>&#2;
{text}
</TEXT>
</REUTERS>
"""


def news(names: str, text: str, split: str = "TRAIN", topics: str = "YES", kind: str = "") -> str:
    marked = "".join(f"<D>{name}</D>" for name in names.split())
    return NEWS.format(topics=topics, split=split, names=marked, kind=kind, text=text)


def test_reuters() -> None:
    body = "<TITLE>A &lt;B> C</TITLE>\n<DATELINE> ROME, - </DATELINE><BODY>One\n    two.\n REUTER\n&#3;</BODY>"
    file = (
        "<!DOCTYPE lewis>\n"
        + news("earn", body)
        + news("earn", "<TITLE>T</TITLE><BODY>Said Reuter. Reuter REUTER\n&#3;</BODY>", split="TEST")
        + news("earn", "******<TITLE>SPLIT\n</TITLE>Blah blah blah.\n&#3;", kind=' TYPE="BRIEF"')
        + news("acq", "loose text\n Reuter", kind=' TYPE="UNPROC"')
        + news("earn acq", body)
        + news("", body)
        + news("earn", body, topics="NO")
        + news("earn", body, split="NOT-USED")
        + news("copper", body, split="TEST")
    )
    expected = [
        ("earn", "A <B> C One two."),
        ("earn", "T Said Reuter. Reuter"),
        ("earn", "****** SPLIT"),
        ("acq", "loose text"),
    ]
    assert converted("reuters_r8", {"reut2-000.sgm": file}) == expected
    # Without given classes: those that have both training and test documents.
    assert converted("reuters_r52", {"reut2-000.sgm": file}) == expected[:3]
    with pytest.raises(InputError, match="no <REUTERS> document"):
        converted("reuters_r8", {"reut2-000.sgm": "<html>"})


def test_bbc_articles() -> None:
    files = {"bbc/tech/001.txt": "A  title\n\nIt cost &pound;5.\n", "bbc/tech/002.txt": "B\n\n\xa35".encode("latin-1")}
    assert converted("bbc", files) == [("tech", "A title It cost £5."), ("tech", "B £5")]


ARTICLE = """The title of it is left out

He said it was "not so bad at all." Then all of them went home... and then slept. No.
- a list of five words here
She asked: "What is the matter now?" said nobody in the room. "[Oil] is not where it splits."
Then all of them went home... and then slept.
"""


def test_bbc_sentences() -> None:
    pool = [
        'He said it was "not so bad at all."',
        "Then all of them went home... and then slept.",
        "- a list of five words here",
        'She asked: "What is the matter now?" said nobody in the room. "[Oil] is not where it splits."',
    ]
    assert converted("bbc_sentences", {"bbc/tech/1.txt": ARTICLE}, sample=4) == [("tech", text) for text in pool]
    # random.Random(0).sample(range(4), 2) is [3, 1]; rows stay in the order of the source.
    assert converted("bbc_sentences", {"bbc/tech/1.txt": ARTICLE}, sample=2) == [("tech", pool[1]), ("tech", pool[3])]
    with pytest.raises(InputError, match="has 4 sentences, fewer than the 5"):
        converted("bbc_sentences", {"bbc/tech/1.txt": ARTICLE}, sample=5)


POST = """From: someone
Subject: x

In article <1@x> she writes:
> quoted

My own  answer
goes on.

--
A name
"""


def test_newsgroups() -> None:
    files = {"d/20news-bydate-test/sci.med/1": POST, "d/20news-bydate-test/sci.med/2": "From: a\n\n> only\n\nname\n"}
    assert converted("newsgroups20", files) == [("sci.med", "My own answer goes on.")]


@pytest.mark.parametrize(
    "text", [POST, "", "\n\n", "one line", "a\n\nb", "a\n----\nb\n", "---\na", "x wrote:\ny\n|z\n\n", "a\n \nb\n--\n\n"]
)
def test_posts_are_cut_as_scikit_learn_cuts_them(text: str) -> None:
    from sklearn.datasets import _twenty_newsgroups as theirs

    assert without_footer(text) == theirs.strip_newsgroup_footer(text)
    assert without_quotations(text) == theirs.strip_newsgroup_quoting(text)


def test_reddit() -> None:
    heading = "created_utc,title,over_18\n"
    files = {
        "data/AMA.csv": heading + '1,"I am,  the &quot;one&quot;",False\n1,Not for children,True\n1,too short,False\n',
        "data/aww.csv": heading + '1,"I am, the ""one""",False\n1,A small dog,False\n',
        "data/big.csv": heading + "1,A very large file," + " " * (4 << 20) + "False\n",
    }
    rows = converted("reddit_titles_1m", files, sample=2)
    # random.Random(0).sample of two keeps that order: [1, 0]
    assert rows == [("aww", "A small dog"), ("AMA", 'I am, the "one"')]
    with pytest.raises(InputError, match="no column 'title'"):
        converted("reddit_titles_1m", {"data/x.csv": "a,b\n1,2\n"}, sample=1)


def test_bytes_that_are_not_text() -> None:
    with pytest.raises(InputError, match=r"tweet\.csv: byte 0 is not utf-8"):
        converted("tweet", {"tweet.csv": b"\xff\xfe\x00"})


def test_content_of_a_file() -> None:
    assert tsv_bytes(("label", "text"), [("1", "é"), ("2", "b")]) == "label\ttext\n1\té\n2\tb\n".encode()

import json

import pytest

from coterie.data.messages import fault


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{}", "'rows' is missing"),
        ("[]", "a value is not of the kind that belongs there"),
        ('{"rows": null}', "a value is not of the kind that belongs there"),
        ('{"rows": []}', "a value is not of the kind that belongs there"),
        ('{"rows": ["many"]}', "invalid literal for int() with base 10: 'many'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_without_names_of_errors(document, said):
    with pytest.raises((KeyError, TypeError, IndexError, ValueError)) as caught:
        int(json.loads(document)["rows"][0])
    assert fault(caught.value) == said

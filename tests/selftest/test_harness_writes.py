"""Which requests count as writes, in the two forms in which a Data Plane API takes them."""

from __future__ import annotations

import pytest

from tests.harness.writes import of_access_log, writes_among

BASE = "/v3/services/haproxy"
LOOK = ["POST {b}/transactions?version=5", "GET {b}/configuration/raw?transaction_id=a-1"]
END = "DELETE {b}/transactions/a-1"
SERVER = "{b}/configuration/backends/be/servers"


@pytest.mark.parametrize("asked, writes", [
    ([*LOOK, END], []),
    ([*LOOK], []),
    ([*LOOK, "GET {b}/configuration/raw?transaction_id=a-1", END], []),
    (["POST {b}/transactions?version=4", *LOOK, END, "PUT {b}/transactions/b-2"], [0, 4]),
    ([*LOOK, f"POST {SERVER}?transaction_id=a-1", END], [0, 2, 3]),
    ([*LOOK, "PUT {b}/transactions/a-1?force_reload=true"], [0, 2]),
    (["POST {b}/transactions?version=5", END], [0, 1]),
    (["POST {b}/transactions?version=5", f"DELETE {SERVER}/n1?transaction_id=a-1", *LOOK], [0, 1, 2]),
    ([f"PUT {SERVER}/n1?version=5", "GET {b}/transactions", "PUT {b}/runtime/backends/be/servers/n1"], [0, 2])])
@pytest.mark.parametrize("form", ["{} -> 200 in 3 ms", 'time="..." level=info msg="127.0.0.1 \\"{} HTTP/1.1\\" 200 17"'])
def test_a_transaction_that_was_only_read_is_no_write(form: str, asked: list[str], writes: list[int]) -> None:
    log = "\n".join(form.format(request.replace("{b}", BASE)) for request in asked)
    assert writes_among(of_access_log(log)) == writes

"""Begin, commit, and each way in which a transaction ends."""

from __future__ import annotations

from tests.harness.haproxy import DataPlane

from .say import UNKNOWN, before_3_4, error, reload_id, server

SERVERS = "/configuration/backends/be/servers"


def add(plane: DataPlane, tid: str, name: str = "n1"):
    return plane.post(f"{SERVERS}?transaction_id={tid}", server(name))


def test_begin_change_commit(plane: DataPlane) -> None:
    version = plane.version()
    begun = plane.post(f"/transactions?version={version}")
    assert begun.status == 201
    assert begun.json() == {"_version": version, "id": begun.json()["id"], "status": "in_progress"}
    tid = begun.json()["id"]
    assert add(plane, tid).status == 202
    assert plane.version() == version, "nothing has changed yet"
    done = plane.commit(tid)
    reload_id(done)
    assert done.json() == {"_version": version, "id": tid, "status": "success"}, "the body has the old version"
    assert done.headers["Configuration-Version"] == str(version + 1), "the header has the new one"
    assert plane.version() == version + 1
    assert f"# _version={version + 1}\n" in plane.file()
    assert "server n1 127.0.9.2:30443 check weight 100" in plane.file()


def test_the_version_comes_with_every_answer(plane: DataPlane) -> None:
    version = str(plane.version())
    tid = plane.begin()
    for method, path, more in [
            ("GET", "/configuration/backends", {}), ("GET", "/configuration/backends/none", {}),
            ("GET", f"/configuration/backends?transaction_id={tid}", {}), ("GET", "/transactions", {}),
            ("GET", "/v2/info", {}), ("GET", "/v3/info", {"auth": None}), ("GET", "/v3/info", {"auth": "admin:wrong"}),
            ("POST", "/transactions?version=999", {}), ("POST", "/transactions", {}),
            ("POST", f"{SERVERS}?transaction_id={tid}", {"body": "{"}), ("GET", "/configuration/raw", {}),
            ("PUT", f"/transactions/{UNKNOWN}", {}), ("DELETE", f"/transactions/{tid}", {})]:
        answer = plane.request(method, path, **more)
        assert answer.headers["Configuration-Version"] == version, (method, path, answer.status)


def test_version_header_of_a_transaction_that_is_not_open_is_0(plane: DataPlane) -> None:
    answer = plane.get(f"{SERVERS}?transaction_id={UNKNOWN}")
    error(answer, 400)
    assert answer.headers["Configuration-Version"] == "0"


def test_begin_with_another_version_is_409(plane: DataPlane) -> None:
    version = plane.version()
    for wrong in (version - 1, version + 1):
        assert str(version) in error(plane.post(f"/transactions?version={wrong}"), 409)
    assert plane.get("/transactions").json() == []


def test_begin_without_a_version(plane: DataPlane) -> None:
    error(plane.post("/transactions"), 422 if before_3_4(plane) else 400)


def test_begin_with_a_version_that_is_no_number(plane: DataPlane) -> None:
    error(plane.post("/transactions?version=one"), 422 if before_3_4(plane) else 400)


def test_a_commit_outdates_the_others(plane: DataPlane) -> None:
    winner, loser = plane.begin(), plane.begin()
    assert add(plane, winner).status == add(plane, loser).status == 202
    reload_id(plane.commit(winner))
    assert loser in error(plane.commit(loser), 406)
    late = add(plane, loser, "n2")
    assert "does not exist" in error(late, 400)
    assert late.headers["Configuration-Version"] == "0"
    assert plane.get(f"/transactions/{loser}").json() == {"id": loser, "status": "outdated"}
    gone = plane.delete(f"/transactions/{loser}")
    assert (gone.status, gone.body) == (204, b"")
    error(plane.delete(f"/transactions/{loser}"), 404)
    error(plane.get(f"/transactions/{loser}"), 404)


def test_an_outdated_one_changes_nothing(plane: DataPlane) -> None:
    winner, loser = plane.begin(), plane.begin()
    add(plane, loser, "lost")
    reload_id(plane.commit(winner))
    before = plane.file()
    error(plane.commit(loser), 406)
    assert plane.file() == before and "lost" not in before


def test_a_versioned_write_leaves_the_others_to_fail_with_409(plane: DataPlane) -> None:
    tid = plane.begin()
    reload_id(plane.post(f"{SERVERS}?version={plane.version()}", server("n1")))
    assert plane.get(f"/transactions/{tid}").json()["status"] == "in_progress"
    error(plane.commit(tid), 409)
    assert plane.get(f"/transactions/{tid}").json()["status"] == "outdated"
    error(plane.commit(tid), 406)


def test_commit_of_a_committed_one_is_404(plane: DataPlane) -> None:
    tid = plane.begin()
    reload_id(plane.commit(tid))
    assert tid in error(plane.commit(tid), 404)
    error(plane.get(f"/transactions/{tid}"), 404)
    error(plane.delete(f"/transactions/{tid}"), 404)
    error(add(plane, tid), 400)


def test_an_unknown_one(plane: DataPlane) -> None:
    error(plane.commit(UNKNOWN), 404)
    error(plane.get(f"/transactions/{UNKNOWN}"), 404)
    error(plane.delete(f"/transactions/{UNKNOWN}"), 404)
    error(add(plane, UNKNOWN), 400)
    error(plane.put(f"/configuration/backends/be?transaction_id={UNKNOWN}", {"name": "be"}), 400)
    error(plane.delete(f"{SERVERS}/old?transaction_id={UNKNOWN}"), 400)


def test_delete_drops_the_changes(plane: DataPlane) -> None:
    before = plane.file()
    tid = plane.begin()
    add(plane, tid)
    assert plane.delete(f"/transactions/{tid}").status == 204
    error(plane.commit(tid), 404)
    error(add(plane, tid), 400)
    assert plane.file() == before


def test_a_refused_commit_fails_the_transaction_and_leaves_the_file(plane: DataPlane) -> None:
    before, version = plane.file(), plane.version()
    tid = plane.begin()
    assert plane.post(f"{SERVERS}?transaction_id={tid}", server("w", weight=300)).status == 202
    refused = plane.commit(tid)
    message = error(refused, 400)
    assert message.startswith("validation error: ") and tid in message and "300" in message
    assert "Reload-ID" not in refused.headers
    assert plane.file() == before and plane.version() == version
    assert plane.get(f"/transactions/{tid}").json() == {"id": tid, "status": "failed"}
    assert tid in error(plane.commit(tid), 406)
    error(add(plane, tid), 400)
    assert plane.delete(f"/transactions/{tid}").status == 204
    error(plane.delete(f"/transactions/{tid}"), 404)


def test_list_shows_all_and_by_status(plane: DataPlane) -> None:
    failed = plane.begin()
    plane.post(f"{SERVERS}?transaction_id={failed}", server("w", weight=300))
    error(plane.commit(failed), 400)
    winner, outdated = plane.begin(), plane.begin()
    reload_id(plane.commit(winner))
    running = plane.begin()
    found = {t["id"]: t["status"] for t in plane.get("/transactions").json()}
    assert found == {failed: "failed", outdated: "outdated", running: "in_progress"}
    assert [t["id"] for t in plane.get("/transactions?status=failed").json()] == [failed]
    assert [t["id"] for t in plane.get("/transactions?status=in_progress").json()] == [running]


def test_the_21st_is_429_until_one_is_deleted(plane: DataPlane) -> None:
    version = plane.version()
    tids = [plane.post(f"/transactions?version={version}").json()["id"] for _ in range(20)]
    assert "20" in error(plane.post(f"/transactions?version={version}"), 429)
    assert plane.delete(f"/transactions/{tids[7]}").status == 204
    assert plane.post(f"/transactions?version={version}").status == 201
    error(plane.post(f"/transactions?version={version}"), 429)


def test_at_the_limit_a_versioned_write_still_works(plane: DataPlane) -> None:
    for _ in range(20):
        plane.begin()
    reload_id(plane.post(f"{SERVERS}?version={plane.version()}", server("n1")))


def test_anybodys_commit_clears_the_leaked_ones(plane: DataPlane) -> None:
    tids = [plane.begin() for _ in range(20)]
    reload_id(plane.commit(tids[0]))
    assert {t["status"] for t in plane.get("/transactions").json()} == {"outdated"}
    assert plane.post(f"/transactions?version={plane.version()}").status == 201, "outdated ones do not count"


def test_an_empty_commit_counts_and_reloads(plane: DataPlane) -> None:
    version, file = plane.version(), plane.file()
    rid = reload_id(plane.commit(plane.begin()))
    assert plane.version() == version + 1
    assert plane.follow(rid)["status"] == "succeeded"
    assert plane.file().splitlines()[2:] == file.splitlines()[2:]


def test_a_forced_commit_has_reloaded_when_it_answers(plane: DataPlane) -> None:
    before = plane.haproxy.worker()
    tid = plane.begin()
    add(plane, tid)
    done = plane.commit(tid, "?force_reload=true")
    assert done.status == 200 and "Reload-ID" not in done.headers
    assert plane.haproxy.worker() != before
    assert plane.haproxy.servers("be")["n1"]["srv_port"] == "30443"


def test_force_reload_inside_a_transaction_is_400(plane: DataPlane) -> None:
    tid = plane.begin()
    error(plane.post(f"{SERVERS}?transaction_id={tid}&force_reload=true", server("n1")), 400)
    error(plane.delete(f"{SERVERS}/old?transaction_id={tid}&force_reload=true"), 400)


def test_neither_or_both_of_version_and_transaction_is_400(plane: DataPlane) -> None:
    error(plane.post(SERVERS, server("n1")), 400)
    error(plane.post(f"{SERVERS}?transaction_id={plane.begin()}&version={plane.version()}", server("n1")), 400)


def test_a_transaction_sees_the_file_as_it_was_at_its_begin(plane: DataPlane) -> None:
    tid = plane.begin()
    version = plane.version()
    reload_id(plane.post(f"{SERVERS}?version={version}", server("later")))
    inside = plane.get(f"{SERVERS}?transaction_id={tid}")
    assert "later" not in [s["name"] for s in inside.json()]
    assert inside.headers["Configuration-Version"] == str(version)
    assert "later" in [s["name"] for s in plane.get(SERVERS).json()]

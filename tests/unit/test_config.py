"""Settings: every one written down, unknown ones refused with the nearest, RocketMQ's own files read."""

import itertools
import re
from pathlib import Path

import pytest

from escrowmq.config import APACHE_NAMES, Config, NameServerConfig, decode_config, default_data_folder, load_config
from escrowmq.errors import ConfigError

SHIPPED = Path(__file__).parents[2] / "escrowmq.toml"


def test_the_shipped_file_has_every_setting_with_its_default() -> None:
    assert load_config(SHIPPED) == Config()
    keys = re.findall(r"^(\w+) =", SHIPPED.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert keys == list(NameServerConfig.__struct_fields__)


def test_every_setting_of_the_shipped_file_is_explained() -> None:
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        if " = " in line and not line.startswith("#"):
            assert before.startswith("# "), line


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"namesrv": {"prot": 1}}, "there is no setting namesrv.prot; the nearest is namesrv.port"),
        ({"nameserver": {}}, "there is no setting nameserver; the nearest is namesrv"),
        ({"namesrv": {"port": 70_000}}, "namesrv.port = 70000: Expected `int` <= 65535"),
        ({"namesrv": {"port": "9876"}}, "namesrv.port = '9876': Expected `int`, got `str`"),
        ({"namesrv": 3}, "namesrv is no table"),
    ],
)
def test_what_is_no_setting_is_refused_in_words(tables: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        decode_config(tables)
    assert str(refused.value) == message


def test_a_configuration_of_rocketmqs_is_read(tmp_path: Path) -> None:
    path = tmp_path / "namesrv.conf"
    path.write_text("# theirs\nlistenPort = 19876\nbindAddress=0.0.0.0\nserverWorkerThreads=8\nenableTopicList=false\n")
    config = load_config(path).namesrv
    assert (config.port, config.host, config.lists_topics) == (19_876, "0.0.0.0", False)  # noqa: S104
    path.write_text("listenPorts=1\n")
    with pytest.raises(ConfigError, match="the nearest is listenPort"):
        load_config(path)


def test_rocketmqs_names_are_names_of_settings() -> None:
    assert set(APACHE_NAMES.values()) <= set(NameServerConfig.__struct_fields__)


@pytest.mark.parametrize("content", [b"[namesrv", b"\xff"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "escrowmq.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is no TOML"):
        load_config(path)
    with pytest.raises(ConfigError, match="No such file"):
        load_config(tmp_path / "nowhere.toml")


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        NameServerConfig().port = 1  # type: ignore[misc]


def test_the_environment_says_where_data_goes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_data_folder("namesrv-9876") == tmp_path / "escrowmq" / "namesrv-9876"

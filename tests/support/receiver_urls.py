# ruff: noqa: RUF001  # confusable characters are what this file is about
"""URLs that a tenant could give for a webhook, and that must not be connected to; PORT is that of a canary."""

from __future__ import annotations

HOSTS = (
    # loopback and its spellings
    *("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "017700000001"),
    *("0177.0.0.1", "0177.1", "00000177.0.0.1", "127.0.0.1.", "127.000.000.001", "127.0.0.01", "0", "0.0.0.0", "0x0"),
    *("127.127.127.127", "3232235521", "4294967295", "127.0.0.1.0", "256.0.0.1", "127.0.0.0x1", "0b1111111"),
    *("localhost", "LOCALHOST", "localhost.", "a.localhost", "LocalHost.", "local", "receiver", "printer.local"),
    *("metadata.google.internal", "db.internal", "router.home.arpa", "x.onion"),
    # digits, dots and letters that Unicode normalization turns into the same
    *(
        "１２７.０.０.１",
        "127。0。0。1",
        "127．0．0．1",
        "①②⑦.⓪.⓪.①",
        "ｌｏｃａｌｈｏｓｔ",
        "loc\u200balhost",
        "𝟙27.0.0.1",
    ),
    *("lo\u00adcalhost", "localhoſt", "127.0.0.1\u200b"),
    # IPv6
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[0::1]"),
    *("[::ffff:0:127.0.0.1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]"),
    *("[2001:0:0:0:0:0:80ff:fffe]", "[fe80::1]", "[fe80::1%25lo]", "[fe80::1%lo]", "[::1%25lo]", "[fec0::1]"),
    *("[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[2001:db8::1]", "[100::1]", "[::1", "::1", "::1]", "[]", "[v1.x]"),
    *("[127.0.0.1]", "[::ffff:169.254.169.254]", "[64:ff9b::169.254.169.254]", "[::1].example", "[::1]x"),
    # metadata services and private networks
    *("169.254.169.254", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.170.2", "100.100.100.200"),
    *("168.63.129.16", "192.0.0.192", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "198.18.0.1"),
    *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1"),
    # userinfo and confusions of parsers
    *("a@127.0.0.1", "example.com@127.0.0.1", "example.com:443@127.0.0.1", "127.0.0.1@example.com", "@127.0.0.1"),
    *("example.com\\@127.0.0.1", "127.0.0.1\\.example.com", "127.0.0.1%00.example.com", "127.0.0.1%2eexample.com"),
    *(
        "127.0.0.1%0a",
        "%31%32%37.0.0.1",
        "127.0.0.1 ",
        " 127.0.0.1",
        "127.0.0.1\t",
        "127.0.0.1\n",
        "127.0.0.1\r\nHost: x",
    ),
    *("", ".", "..", "-a.example", "a-.example", "a..example", "a_b.example", ".example.com", "*.example.com"),
    *(f"{'a' * 64}.example", f"{'a.' * 127}example"),
)
SCHEMES = ("http", "ftp", "file", "gopher", "dict", "ldap", "javascript", "unix", "ws", "wss", "https+unix", "data")
PORTS = ("0", "1", "22", "25", "80", "442", "444", "1023", "65536", "99999999", "-1", "+443", "０", "4 43", "443a", "")
BLOCKED_PORTS = ("2049", "5060", "6000", "6667", "10080")


def refused_urls(port: int) -> list[str]:
    """All of them; `port` is that of a canary, which must receive no connection."""
    return list(
        dict.fromkeys(
            [
                *(f"https://{host}:{port}/" for host in HOSTS),
                *(f"https://{host}/latest/meta-data/" for host in HOSTS),
                *(f"{scheme}://127.0.0.1:{port}/" for scheme in SCHEMES),
                *(f"{scheme}://example.com/" for scheme in SCHEMES),
                *(f"https://example.com:{wrong}/" for wrong in (*PORTS, *BLOCKED_PORTS)),
                *("https:/127.0.0.1/", "https:127.0.0.1", "//127.0.0.1/", "127.0.0.1", "https://", "https:///x", ""),
                *(f"https:\\\\127.0.0.1:{port}\\", f"https://example.com/#@127.0.0.1:{port}/", "https://example.com/#"),
                *("https://example.com/a b", "https://example.com/é", "https://example.com/\x00", "https://a.co/<>"),
                *(" https://example.com/", "https://example.com/ ", "https://example.com/\r\nX: y", "https://a.co/|"),
            ]
        )
    )


REFUSED_URLS = refused_urls(9443)

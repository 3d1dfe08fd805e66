r"""Some 500 strings that often go wrong where text is stored, shown or sent, by what goes wrong.

The kinds are those of the Big List of Naughty Strings; the strings are our own. Code that runs on a page sets
`window.hit`.
"""

# ruff: noqa: RUF001  # letters that look like others are some of them

from __future__ import annotations

from itertools import product
from typing import Final

RESERVED: Final = (
    *("undefined", "undef", "null", "NULL", "(null)", "nil", "NIL", "None", "none", "true", "false", "True", "False"),
    *("TRUE", "FALSE", "yes", "no", "on", "off", "hasOwnProperty", "constructor", "__proto__", "toString", "then"),
    *("\\", "\\\\", "[object Object]", "function", "this", "NaN", "self", "__init__", "eval", "id", "tenant_id", "-"),
)
NUMBERS: Final = (
    *("0", "1", "-1", "1.00", "$1.00", "1/2", "1E2", "1E02", "1E+02", "-1.00", "0.0", "1/0", "0/0", "-0", "-0.0", "+0"),
    *("0..0", ".", "0.0.0", "0,00", "0,,0", ",", "0,0,0", "--1", "-", "-.", "-,", "1e309", "-1e309", "5e-324"),
    *("9" * 96, "Infinity", "-Infinity", "INF", "1#INF", "-1#IND", "1#QNAN", "0x0", "0xffffffff", "0xabad1dea"),
    *("0b101", "0o17", "123456789012345678901234567890", "1,000.00", "1 000.00", "1'000.00", "1.000,00", "01000"),
    *("08", "09", "2.2250738585072011e-308", "9007199254740993", "4294967296", "1_000", "٠١٢", "１２３", "½", "Ⅷ"),
)
SIGNS: Final = (
    *(",./;'[]\\-=", '<>?:"{}|_+', "!@#$%^&*()`~", "%", "%%", "%s%s%s%n", "%d", "%x", "{0}", "{}", "${", "#{", "<!--"),
    *(
        "\x01\x02\x03\x04\x05\x06\x07\x08",
        "\x0b\x0c\x0e\x0f",
        "\x1b[31mred\x1b[0m",
        "\x7f",
        "\x80\x85\x9f",
        "\t",
        "\xa0",
    ),
    *("a\u2028b", "a\u2029b", "a\rb", "a\nb", "a\r\nb", "\ufeffbom", "\u200bzero\u200bwidth", "soft\u00adhyphen"),
    *("Ω≈ç√∫˜µ≤≥÷", "åß∂ƒ©˙∆˚¬…æ", "œ∑´®†¥¨ˆøπ“‘", "¡™£¢∞§¶•ªº–≠", "¸˛Ç◊ı˜Â¯˘¿", "⅛⅜⅝⅞", "ЁЂЃЄЅІЇ", "٠١٢٣٤٥٦٧٨٩"),
    *(
        "⁰⁴⁵",
        "₀₁₂",
        "⁰⁴⁵₀₁₂",
        "'",
        '"',
        "''",
        '""',
        "'\"'",
        "\"''''\"'\"",
        "\"'\"'\"''''\"",
        "`",
        "``",
        "’",
        "„“",
        "«»",
    ),
)
SCRIPTS: Final = (
    *(
        "田中さんにあげて下さい",
        "パーティーへ行かないか",
        "和製漢語",
        "部落格",
        "사회과학원 어학연구소",
        "찦차를 타고 온 펲시맨",
    ),
    *("社會科學院語學研究所", "울란바토르", "𠜎𠜱𠝹𠱓𠱸𠲖𠳏", "Ⱥ", "Ⱦ", "İ", "ı", "ß", "ﬀ", "ŉ", "ǰ", "ΐ", "Ω", "K"),
    *("ヽ༼ຈل͜ຈ༽ﾉ", "(｡◕ ∀ ◕｡)", "｀ｨ(´∀｀∩", "__ﾛ(,_,*)", "・(￣∀￣)・:*:", "(╯°□°）╯︵ ┻━┻)", "( ͡° ͜ʖ ͡°)"),
    *("😍", "👩🏽", "👨‍🦰", "👩‍👩‍👧‍👦", "🇨🇭", "🇨🇭🇺", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "👾 🙇 💁 🙅", "❤️ 💔", "✋🏿 💪🏿", "🚾 🆒 🆓"),
    *("ثم نفس سقطت وبالتحديد", "בְּרֵאשִׁית, בָּרָא אֱלֹהִים", "הָיְתָהtestالصفحات", "﷽", "ﷺ", "مُنَاقَشَةُ سُبُلِ"),
    *("لُلُصّبُلُلصّبُررً ॣ ॣh ॣ ॣ 冗", "జ్ఞా", "గ్గ్‌గ్", "กำ", "᚛ᚄᚓᚐᚋᚒᚄ᚜", "᚛                 ᚜", "𝒯𝒽𝑒", "𝐓𝐡𝐞", "ⓣⓗⓔ", "🆃🅷🅴"),
    *("\u202etest\u202c", "\u202dtest", "\u2066test\u2067", "\u2029test\u2029", "test\u2060test\u202b", "\u200f\u200e"),
    *(
        "Z\u0301" * 16,
        "T\u0321\u034e\u0319o\u0334\u0316 z\u0354a\u0351l\u0363g\u0360o",
        "˙ɐnbᴉlɐ ɐuƃɐɯ",
        "00˙Ɩ$-",
        "ʇunpᴉ",
    ),
    *(
        "\U000e0001\U000e0041",
        "\ufffe",
        "\uffff",
        "\U0010ffff",
        "\ue000",
        "\ufff9a\ufffab\ufffb",
        "a\u0300\u0301\u0302",
    ),
)
DATABASES: Final = (
    *("1;DROP TABLE users", "1'; DROP TABLE users-- 1", "' OR 1=1 -- 1", "' OR '1'='1", "'; EXEC xp_cmdshell('x')--"),
    *("%", "_", "%_%", "a'b\"c", "\\'; --", "' UNION SELECT NULL,NULL--", "admin'--", "1 OR 1=1#", "/*", "*/", "';--"),
    *("$1", "?", ":name", "%(name)s", "@p1", "E'\\x00'", "\\N", "{{1}}", "[1,2", '{"$gt": ""}', "$where", "*", "a*b"),
    *("x'; SELECT pg_sleep(9)--", "1); ATTACH DATABASE 'x' AS y;--", "read_csv('/etc/passwd')", "COPY t TO 'x'"),
)
SERVERS: Final = (
    *("-", "--", "--version", "--help", "$USER", "/dev/null; touch hit ; echo", "`touch hit`", "$(touch hit)", "|id"),
    *('@{[system "touch hit"]}', "eval(\"puts 'hello world'\")", 'System("ls -al /")', "`ls -al /`", "; ls", "&& ls"),
    *('Kernel.exec("ls -al /")', "Kernel.exit(1)", "%x('ls -al /')", "() { 0; }; touch hit", "() { _; } >_[$($())]"),
    *("<<< %s(un='%s') = %u", "+++ATH0", "../../../../etc/passwd%00", "../../../../etc/hosts", "file:///etc/passwd"),
    *('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "<![CDATA[x]]>", "]]>"),
    *("$HOME", "$ENV{'HOME'}", "%d", "%s", "%*.*s", "{0}", "%n", "{{ 7 * 7 }}", "{% print 'x' * 64 * 1024**3 %}"),
    *(
        '{{ "".__class__.__mro__[2].__subclasses__() }}',
        "<%= 7 * 7 %>",
        "${7*7}",
        "#{7*7}",
        "*{7*7}",
        "@(7*7)",
        "[[7*7]]",
    ),
    *(
        "${jndi:ldap://127.0.0.1/a}",
        "CON",
        "PRN",
        "AUX",
        "CLOCK$",
        "NUL",
        "A:",
        "ZZ:",
        "COM1",
        "LPT1",
        "con.txt",
        "...",
    ),
    *(
        "DCC SEND STARTKEYLOGGER 0 0 0",
        "Powerلُلُصّبُلُلصّبُررً ॣ ॣh ॣ ॣ 冗",
        "=1+1",
        "=cmd|' /C calc'!A0",
        "@SUM(1+1)",
        "+1",
        "-1+1",
    ),
    *("\nBcc: eve@people.example", "a\r\nSubject: hit", "=?utf-8?q?=0D=0ABcc:_x=40y.example?=", "a%0d%0aX-Hit: 1"),
    *(
        "http://a/%%30%30",
        "https://[::1",
        "//evil.example",
        "javascript:window.hit=1",
        "data:text/html,<script>hit</script>",
    ),
    *(
        "If you're reading this, you've been in a coma.",
        "Roses are \x1b[0;31mred\x1b[0m",
        "But now...\x1b[20Cfor surprise",
    ),
)
ORDINARY: Final = (
    *(
        "Scunthorpe General Hospital",
        "Penistone Community Church",
        "Lightwater Country Park",
        "Jimmy Clitheroe",
        "Null",
    ),
    *(
        "Horniman Museum",
        "shitake mushrooms",
        "RomansInSussex.co.uk",
        "Craig Cockburn",
        "Linda Callahan",
        "O'Brien",
        "Jr.",
    ),
    *(
        "Dr. Herman I. Libshitz",
        "magna cum laude",
        "Super Bowl XXX",
        "medieval erection",
        "evaluate",
        "mocha",
        "Ng",
        "X Æ A-12",
    ),
    *(
        "expression",
        "Arsenal canal",
        "classic",
        "Tyson Gay",
        "Dick Van Dyke",
        "basement",
        "Adolf Öhman",
        "Test",
        "admin",
    ),
)
_CALLS: Final = ("<script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", "<svg onload=window.hit=1>")
_BREAKS: Final = (
    "",
    "-->",
    "'>",
    '">',
    "</textarea>",
    "</title></style></script>",
    "]]>",
    "</noscript>",
    '"/>\x0b',
    "'/><",
)
_SPACES: Final = ("/", "\t", "\n", "\x0b", "\x0c", "\r", "\xa0", "\u3000", "\x1f", "//")
_EVENTS: Final = ("onerror", "onload", "onfocus", "onmouseover", "onanimationstart", "ontoggle", "onbeforetoggle")
_SCHEMES: Final = (
    *(
        "javascript:",
        "JaVaScRiPt:",
        "java\tscript:",
        "java\nscript:",
        "\x01javascript:",
        "javascript\x00:",
        "vbscript:",
    ),
    *("&#106;avascript:", "data:text/html;base64,", "javascript&colon;", "\u2028javascript:", "feed:javascript:"),
)
MARKUP: Final = (
    *(f"{end}{call}" for end, call in product(_BREAKS, _CALLS)),
    *(f"<img{space}src=x{space}{name}=window.hit=1>" for space, name in product(_SPACES, _EVENTS[:2])),
    *(f'" {name}=window.hit=1 autofocus x="' for name in _EVENTS),
    *(f"' {name}=window.hit=1 autofocus x='" for name in _EVENTS),
    *(f'<a href="{scheme}window.hit=1">x</a>'.replace("\x00", "\x02") for scheme in _SCHEMES),
    *(f"[x]({scheme}window.hit=1)".replace("\x00", "\x02") for scheme in _SCHEMES),
    *(f"![x]({scheme}window.hit=1)".replace("\x00", "\x02") for scheme in _SCHEMES[:4]),
    *(
        "<scr<script>ipt>window.hit=1</scr</script>ipt>",
        "<ScRiPt>window.hit=1</sCrIpT>",
        '<script\x20type="text/javascript">',
    ),
    *(
        "<iframe srcdoc='<script>parent.hit=1</script>'>",
        "<object data=javascript:window.hit=1>",
        "<embed src=//evil.example>",
    ),
    *(
        "<base href=//evil.example/>",
        "<meta http-equiv=refresh content='0;url=//evil.example'>",
        "<link rel=stylesheet href=//x>",
    ),
    *(
        "<form action=//evil.example><input autofocus onfocus=window.hit=1>",
        "<details open ontoggle=window.hit=1>x",
        "<plaintext>",
    ),
    *(
        "<math><mtext><table><mglyph><style><img src onerror=window.hit=1>",
        "<svg><style><img src=x onerror=window.hit=1></svg>",
    ),
    *(
        "<style>@import '//evil.example'</style>",
        '<div style="width:expression(window.hit=1)">',
        "<b style=x:url(//evil.example)>",
    ),
    *(
        "&lt;script&gt;window.hit=1&lt;/script&gt;",
        "&#60;script&#62;window.hit=1",
        "\\u003cscript\\u003ewindow.hit=1",
        "&amp;lt;b&gt;",
    ),
    *(
        "<template><script>window.hit=1</script></template>",
        "<xmp><script>window.hit=1</script>",
        "<!--<script>window.hit=1//-->",
    ),
    *(
        "\"`'><script>\xc2\x85window.hit=1</script>",
        '<a href="#" onclick="window.hit=1">x</a>',
        "<b>&#0;</b>",
        "<0 onload=hit>",
    ),
    *(
        "{window.hit=1}",
        "{{constructor.constructor('window.hit=1')()}}",
        "`${window.hit=1}`",
        "';window.hit=1;//",
        "\\';window.hit=1//",
    ),
    *(
        "</script><script>window.hit=1</script>",
        "<script>window.hit=1;//\\u2028",
        "<x onclick=window.hit=1 tabindex=1 autofocus>y",
    ),
)
NAUGHTY: Final = tuple(dict.fromkeys((*RESERVED, *NUMBERS, *SIGNS, *SCRIPTS, *DATABASES, *SERVERS, *ORDINARY, *MARKUP)))


def join_within(texts: tuple[str, ...], limit: int, separator: str = "\n") -> list[str]:
    """Join texts to as few as possible of at most `limit` characters, so that one page shows many."""
    joined = [""]
    for text in texts:
        more = f"{joined[-1]}{separator}{text}" if joined[-1] else text
        joined = [*joined[:-1], more] if len(more) <= limit else [*joined, text]
    return joined

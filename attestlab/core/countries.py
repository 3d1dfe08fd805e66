"""Country codes: ISO 3166-1, the codes of travel documents (ICAO Doc 9303 part 3, section 5), and what is no country.

The table is part of this package because it has only 249 pairs of codes and changes less than once a year;
libraries with this table add megabytes of names and translations. Codes are upper case, as in the standard.
"""

from __future__ import annotations

from typing import Final

from attestlab.core.placeholders import is_placeholder

_ISO_3166_1 = """
AD:AND AE:ARE AF:AFG AG:ATG AI:AIA AL:ALB AM:ARM AO:AGO AQ:ATA AR:ARG AS:ASM AT:AUT AU:AUS AW:ABW AX:ALA AZ:AZE
BA:BIH BB:BRB BD:BGD BE:BEL BF:BFA BG:BGR BH:BHR BI:BDI BJ:BEN BL:BLM BM:BMU BN:BRN BO:BOL BQ:BES BR:BRA BS:BHS
BT:BTN BV:BVT BW:BWA BY:BLR BZ:BLZ CA:CAN CC:CCK CD:COD CF:CAF CG:COG CH:CHE CI:CIV CK:COK CL:CHL CM:CMR CN:CHN
CO:COL CR:CRI CU:CUB CV:CPV CW:CUW CX:CXR CY:CYP CZ:CZE DE:DEU DJ:DJI DK:DNK DM:DMA DO:DOM DZ:DZA EC:ECU EE:EST
EG:EGY EH:ESH ER:ERI ES:ESP ET:ETH FI:FIN FJ:FJI FK:FLK FM:FSM FO:FRO FR:FRA GA:GAB GB:GBR GD:GRD GE:GEO GF:GUF
GG:GGY GH:GHA GI:GIB GL:GRL GM:GMB GN:GIN GP:GLP GQ:GNQ GR:GRC GS:SGS GT:GTM GU:GUM GW:GNB GY:GUY HK:HKG HM:HMD
HN:HND HR:HRV HT:HTI HU:HUN ID:IDN IE:IRL IL:ISR IM:IMN IN:IND IO:IOT IQ:IRQ IR:IRN IS:ISL IT:ITA JE:JEY JM:JAM
JO:JOR JP:JPN KE:KEN KG:KGZ KH:KHM KI:KIR KM:COM KN:KNA KP:PRK KR:KOR KW:KWT KY:CYM KZ:KAZ LA:LAO LB:LBN LC:LCA
LI:LIE LK:LKA LR:LBR LS:LSO LT:LTU LU:LUX LV:LVA LY:LBY MA:MAR MC:MCO MD:MDA ME:MNE MF:MAF MG:MDG MH:MHL MK:MKD
ML:MLI MM:MMR MN:MNG MO:MAC MP:MNP MQ:MTQ MR:MRT MS:MSR MT:MLT MU:MUS MV:MDV MW:MWI MX:MEX MY:MYS MZ:MOZ NA:NAM
NC:NCL NE:NER NF:NFK NG:NGA NI:NIC NL:NLD NO:NOR NP:NPL NR:NRU NU:NIU NZ:NZL OM:OMN PA:PAN PE:PER PF:PYF PG:PNG
PH:PHL PK:PAK PL:POL PM:SPM PN:PCN PR:PRI PS:PSE PT:PRT PW:PLW PY:PRY QA:QAT RE:REU RO:ROU RS:SRB RU:RUS RW:RWA
SA:SAU SB:SLB SC:SYC SD:SDN SE:SWE SG:SGP SH:SHN SI:SVN SJ:SJM SK:SVK SL:SLE SM:SMR SN:SEN SO:SOM SR:SUR SS:SSD
ST:STP SV:SLV SX:SXM SY:SYR SZ:SWZ TC:TCA TD:TCD TF:ATF TG:TGO TH:THA TJ:TJK TK:TKL TL:TLS TM:TKM TN:TUN TO:TON
TR:TUR TT:TTO TV:TUV TW:TWN TZ:TZA UA:UKR UG:UGA UM:UMI US:USA UY:URY UZ:UZB VA:VAT VC:VCT VE:VEN VG:VGB VI:VIR
VN:VNM VU:VUT WF:WLF WS:WSM YE:YEM YT:MYT ZA:ZAF ZM:ZMB ZW:ZWE
"""

ALPHA_2: frozenset[str] = frozenset(pair[:2] for pair in _ISO_3166_1.split())
# Kosovo has no code in ISO 3166-1; XK is the user-assigned one by which tables of addresses know it.
LOCATIONS: frozenset[str] = ALPHA_2 | {"XK"}
ALPHA_3: frozenset[str] = frozenset(pair[3:] for pair in _ISO_3166_1.split())
CODES: frozenset[str] = LOCATIONS | ALPHA_3 | {"XKX"}  # of two letters or three
_ALIASES: Final = {"UK": "GB", "EL": "GR"}  # reserved in ISO 3166-1 for those who write them so
# Of tables of addresses: unknown (ZZ, XX), Tor (T1), proxies, satellites and others (A1, A2, O1), and regions.
_NO_COUNTRIES: Final = frozenset(["ZZ", "XX", "T1", "A1", "A2", "O1", "EU", "AP"])

# Codes of passports that are not in ISO 3166-1: Germany's one letter, British nationals who are not citizens, bodies
# that issue travel documents, Kosovo, and people without nationality (XXA stateless, XXB, XXC refugees, XXX unknown).
_ICAO_9303 = """
D GBD GBN GBO GBP GBS EUE UNA UNK UNO RKS XCC XOM XPO XXA XXB XXC XXX
"""

TRAVEL_DOCUMENT: frozenset[str] = frozenset(_ICAO_9303.split())


def parse_location(text: str) -> str | None:
    """Parse a country code of two letters, in either case; None if it stands for no country.

    >>> [parse_location(each) for each in ("ch", "UK", "XK", "ZZ", "T1", "unknown")]
    ['CH', 'GB', 'XK', None, None, None]

    Raises:
        ValueError: it is no such code.
    """
    code = text.strip().upper()
    code = _ALIASES.get(code, code)
    if code in _NO_COUNTRIES or is_placeholder(text):
        return None
    if not text.isascii() or code not in LOCATIONS:  # the upper case of "ß" is SS, South Sudan
        raise ValueError(f"{text[:40]!r} is no ISO 3166-1 code of two letters, such as CH, or XK for Kosovo.")
    return code

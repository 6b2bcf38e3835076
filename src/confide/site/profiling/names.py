"""What the name or the label of a column says that it is: units, weights, the sample's design, places, roles."""

import re

__all__ = [
    "of_age",
    "of_code",
    "of_confidential",
    "of_design",
    "of_household",
    "of_household_weight",
    "of_index",
    "of_key",
    "of_postcode",
    "of_strata",
    "of_unit",
    "of_weight",
    "replicates",
]

Pattern = re.Pattern[str]

_UNIT = re.compile(
    r"(^|[_. ])(id|pid|hid|hhid|uid|uuid|guid|key|ident|identifier|serial|serialno|user)$", re.IGNORECASE
)
_CAMEL = re.compile(r"[a-z]I[dD]$")
_INDEX = re.compile(r"^(unnamed(: ?\d+)?|index|rownames?|row_?(no|nr|num|number)?|obs(_?no)?|_n_)$", re.IGNORECASE)
_HOUSEHOLD = re.compile(
    r"(^|[_. ])(hid|hh_?id|hh|hhold|household|dwelling|serialno|db030)|household|hhid", re.IGNORECASE
)
_WEIGHT = re.compile(
    r"^(w|wt|p?wgtp?|fnlwgt|rb050|pb040|db090|(h|hh|p|per|ind|pop|samp|final|base)?(weights?|wgt|wt)|.*[_. ](weights?|wgt|wt)"
    r"|gewicht|hrf|poids|pondera?(tion|dor|cion)?|fac(tor)?_?exp|fexp)$",
    re.IGNORECASE,
)
_SAYS_WEIGHT = re.compile(
    r"\b(sampl\w*|survey|design|person|household|final|grossing|expansion|calibrat\w*|analysis) (weight|factor)s?\b"
    r"|weighting factor|^weights?$|gewichtung|hochrechnungs|^gewicht$|poids de (sondage|calage)|pond[eé]ration"
    r"|factor de (expansi|elevaci|ponderaci)",
    re.IGNORECASE,
)
_HOUSEHOLD_WEIGHT = re.compile(r"^(db090|wgtp|hh?_?(weight|wgt|wt)s?)$", re.IGNORECASE)
_BODY = re.compile(r"birth|body|kg", re.IGNORECASE)
_REPLICATE = re.compile(
    r"^(.*(?:wgt|wt|weight|repl?|brr|fay|jack|jk|boot|bsw|bs)[a-z]*[_. ]?)(\d{1,4})$|^(rw[_. ]?)(\d{1,4})$",
    re.IGNORECASE,
)
_DESIGN = re.compile(
    r"(^|[_. ])(strat(a|um)?|psu|cluster|ssu|sdmvpsu|sdmvstra|varstrat|varunit|v021|v022)\d{0,2}$|sampling (stratum|unit)"
    r"|primary sampling",
    re.IGNORECASE,
)
_STRATA = re.compile(r"stra|v022", re.IGNORECASE)
_AGE = re.compile(r"(^|[_. ])(agep?|alter|edad|âge)$", re.IGNORECASE)
_SAYS_AGE = re.compile(r"^(age|alter|edad|âge)\b", re.IGNORECASE)
_POSTCODE = re.compile(r"(^|[_. ])(zip|zip_?code|zcta\d?|plz|post_?code|postal(_?code)?)\d*$", re.IGNORECASE)
_CODE = re.compile(
    r"(code|fips|(^|[_. ])(cd|zip|plz|naics|nace|isic|isco|sic|soc|nuts|lau|puma)\d*|[_. ](cat|category|class|group|type))$",
    re.IGNORECASE,
)

_CONFIDENTIAL = re.compile(
    r"incom|wage|salar|\bearn|benefi|pension|allowance|welfare|tax|debt|loan|wealth|asset|saving|povert|depriv|gains?\b"
    r"|\bloss|profit|turnover|health|\bill|disease|sick|diagnos|symptom|disab|difficult|medic|hospital|depress|cancer|diabet"
    r"|smok|alcohol|drink|drug|crime|offen[cs]e|convict|arrest|victim|violen|abuse|opinion|attitude|trust|satisf|happ"
    r"|unemp|employment|labou?r force|\bpl03\d|econ(omic)? (activity|status)|activity status"
    r"|vote|voting|party|politic|religi|faith|union|sexual|orientation|hiv|abort|contracep|score|grade|result"
    r"|einkommen|einkünfte|verdienst|\blohn|gehalt|vermögen|schulden|gesundheit|krank|behinder|revenu|salaire|\bsanté|maladie"
    r"|ingreso|sueldo|\bsalud|enfermedad",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"sex|gender|\bagep?\b|\baged\b|birth|born|year|\brace|ethnic|hisp|\bnation|citizen|country|origin|language|migra|\bmig\b|abroad"
    r"|marital|marri|spouse|civil|famil|house|\bhh|\brelat|child|kids|member|size|hsize|npf|noc\b|msp\b|rac1p"
    r"|region|county|\bstates?\b|town|\bcity|munic|district|area|province|canton|nuts|\blau\b|puma|\bpost|zip|urban|rural|urbrur|density|\bgeo"
    r"|place|residence|address|\bedu|school|degree|qualif|student|occup|job|profess|employ|\bemp\b|work|labou?r|industr"
    r"|activity|\becon|sector|branch|nace|naics|isco|isic|\bsic\b|\bsoc\b|\bind\b|indp|\bocc\b|legal|\bown|tenure|hous"
    r"|dwelling|accom|vet\b|veteran|military|db040|rb090|pl030|pb220|community|founded"
    r"|geschlecht|\balter\b|altersgruppe|geburt|familienstand|staatsang|bundesland|gemeinde|\bkreis\b|\bort\b|wohnort|schulab|bildung"
    r"|beruf|branche|\bâge|naissance|commune|d[eé]partement|dipl[oô]me|\bedad\b|nacimiento|provincia|educaci|ocupaci",
    re.IGNORECASE,
)

LEAST_REPLICATES = 4
"""Fewer columns of one name and running numbers than this are no replicate weights: two or three weights may be others."""


def _words(name: str) -> str:
    """A name as words: `maritalStatus` and `marital_status` are alike."""
    return re.sub(r"[_.\-]+", " ", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name))


def of_unit(name: str) -> bool:
    """Whether a name is that of an identifier."""
    return bool(_UNIT.search(name) or _CAMEL.search(name))


def of_index(name: str) -> bool:
    """Whether a name is that of a running index, as programs write it."""
    return bool(_INDEX.match(name))


def of_household(name: str) -> bool:
    """Whether a name is that of an identifier of households.

    >>> of_household("hh_id"), of_household("db030"), of_household("person_id")
    (True, True, False)
    """
    return bool(_HOUSEHOLD.search(name))


def of_weight(name: str, label: str = "") -> bool:
    """Whether a name or a label is that of a survey weight, not of somebody's own weight.

    >>> of_weight("hhwt"), of_weight("v100", "Person weight"), of_weight("v101", "Weight at birth"), of_weight("birth_weight")
    (True, True, False, False)
    """
    if any(_BODY.search(text) for text in (name, label)):
        return False
    return bool(_WEIGHT.match(name) or _SAYS_WEIGHT.search(label))


def of_household_weight(name: str) -> bool:
    """Whether a name is that of a weight of households, beside which people may have their own.

    >>> of_household_weight("hh_weight"), of_household_weight("db090"), of_household_weight("rb050")
    (True, True, False)
    """
    return bool(_HOUSEHOLD_WEIGHT.search(name)) or of_household(name)


def of_age(name: str, label: str = "") -> bool:
    """Whether a name or a label is that of ages.

    >>> of_age("head_age"), of_age("v3", "Age in years"), of_age("v4", "Wages")
    (True, True, False)
    """
    return bool(_AGE.search(name) or _SAYS_AGE.search(label))


def of_design(name: str, label: str = "") -> bool:
    """Whether a column is a stratum or a primary sampling unit.

    >>> of_design("sdmvpsu"), of_design("stratum"), of_design("strategy")
    (True, True, False)
    """
    return bool(_DESIGN.search(name) or _DESIGN.search(label))


def of_postcode(name: str) -> bool:
    """Whether a name is that of postcodes."""
    return bool(_POSTCODE.search(name))


def of_code(name: str) -> bool:
    """Whether a name is that of codes, even if they look like numbers."""
    return bool(_CODE.search(name)) or of_postcode(name)


def of_confidential(name: str, label: str = "") -> bool:
    """Whether a column sounds like what nobody should learn of a person.

    >>> of_confidential("income_50k"), of_confidential("region"), of_confidential("q7", "General health")
    (True, False, True)
    """
    return any(_CONFIDENTIAL.search(_words(text)) for text in (name, label))


def of_key(name: str, label: str = "") -> bool:
    """Whether a column sounds like what others may know of a person or a firm.

    >>> of_key("maritalStatus"), of_key("q7", "General health")
    (True, False)
    """
    return any(_KEY.search(_words(text)) for text in (name, label))


def of_strata(name: str) -> bool:
    """Whether a column of a sample's design is a stratum.

    >>> of_strata("sdmvstra"), of_strata("stratum"), of_strata("sdmvpsu")
    (True, True, False)
    """
    return bool(_STRATA.search(name))


def replicates(names: list[str]) -> set[str]:
    """Those of the names that are replicate weights: of one name, with running numbers.

    >>> sorted(replicates(["pwgtp", "pwgtp1", "pwgtp2", "pwgtp3", "pwgtp4", "age1"]))
    ['pwgtp1', 'pwgtp2', 'pwgtp3', 'pwgtp4']
    """
    stems: dict[str, set[str]] = {}
    for name in names:
        if found := _REPLICATE.match(name):
            stems.setdefault((found[1] or found[3]).lower(), set()).add(name)
    return {name for group in stems.values() if len(group) >= LEAST_REPLICATES for name in group}

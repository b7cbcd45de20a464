"""Words and their characters, as one tokenizer."""

from tokenizers import Regex, pre_tokenizers

# What a word is, tried from left to right:
#   abbreviations with dots (U.S., e.g.), words up to a clitic (do|n't, it|'s), clitics, numbers with inner marks and a
#   tail (1,234.5, 1990s), words of letters with combining marks, doubled quotes and dots as one sign, any other sign.
WORD_PATTERN = (
    r"(?:\p{L}\.){2,}"
    r"|\p{N}+(?:[.,:]\p{N}+)*[\p{L}\p{M}]*"
    r"|[\p{L}\p{M}]+?(?=n['’]t\b)"
    r"|n['’]t\b"
    r"|['’](?:s|S|re|RE|ve|VE|ll|LL|d|D|m|M)\b"
    r"|[\p{L}\p{M}\p{N}_]+"
    r"|``|''|\.\.\.+|--+"
    r"|[^\s]"
)


def word_pre_tokenizer() -> pre_tokenizers.PreTokenizer:
    """Cuts text into words at `WORD_PATTERN`; offsets point into the text as given."""
    return pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex(WORD_PATTERN), behavior="isolated")]
    )

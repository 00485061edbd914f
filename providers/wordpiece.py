"""The tokenizer of all-MiniLM-L6-v2 (BERT uncased WordPiece), built from the packaged vocabulary."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from importlib.resources import files
from typing import TYPE_CHECKING

from prowess.providers.errors import ModelDamaged, ModelMissing

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["MAX_TOKENS", "VOCAB_SHA256", "load_tokenizer"]

MAX_TOKENS = 256  # the model's own ``max_seq_length``, [CLS] and [SEP] included
VOCAB_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

_REINSTALL = "reinstall prowess"


def load_tokenizer() -> Tokenizer:
    """The tokenizer, cutting at ``MAX_TOKENS`` and never padding. Raises ModelMissing, ModelDamaged."""
    try:
        from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    except ImportError as error:
        raise ModelMissing("the package 'tokenizers' is not installed", hint="pip install tokenizers") from error

    vocab = {token: number for number, token in enumerate(_vocab_text().splitlines())}
    tokenizer = Tokenizer(models.WordPiece(vocab, unk_token="[UNK]", max_input_chars_per_word=100))  # noqa: S106
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", vocab["[CLS]"]), ("[SEP]", vocab["[SEP]"])]
    )
    tokenizer.enable_truncation(MAX_TOKENS)
    return tokenizer


def _vocab_text() -> str:
    try:
        raw = gzip.decompress((files("prowess.providers") / "data" / "vocab.txt.gz").read_bytes())
    except FileNotFoundError as error:
        raise ModelMissing("the packaged vocabulary vocab.txt.gz is missing", hint=_REINSTALL) from error
    except (OSError, EOFError, zlib.error) as error:
        raise ModelDamaged(f"the packaged vocabulary cannot be read: {error}", hint=_REINSTALL) from error
    if hashlib.sha256(raw).hexdigest() != VOCAB_SHA256:
        raise ModelDamaged("the packaged vocabulary is not the one that was published", hint=_REINSTALL)
    return raw.decode()

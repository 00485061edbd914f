"""How people answer, go on talking, praise and blame in other languages than English, at the beginning of a prompt.

The most usual words of Chinese, French, German, Italian, Japanese, Korean, Portuguese, Russian and Spanish. Where a
language has no blanks between its words, what follows must be a mark or nothing for those that begin other words too.
"""

from __future__ import annotations

import re

__all__ = ["answers", "goes_on", "length", "verdict_of"]

FIRST = 100  # characters of what is said that can be a word on what was done
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")  # kana and Han, two of which make about a word
_END = r"(?=\W|$)"
_POINT = r"(?=\s*(?:[.!,;)]|$))"  # not "works slowly"

_ANSWERS = re.compile(
    rf"(?:sí|vale|dale|claro|gracias|sim|não|obrigad[oa]|oui|non|merci|d'accord|ja|nein|danke|genau|sì|grazie|va bene|"
    rf"да|нет|ок|ладно|хорошо|спасибо|давай|네|예|응|아니요?|좋아요?|고마워요?|감사합니다){_END}"
    rf"|(?:好的?|是的?|对的?|可以|行|不用?|谢谢|はい|いいえ|お願いします|ありがとう(?:ございます)?|了解){_END}",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    rf"(?:y|pero|también|además|continúa|sigue|ahora|otra vez|por qué|e|mas|também|continua|agora|por que|et|mais|"
    rf"aussi|encore|continue|pourquoi|und|aber|auch|weiter|mach weiter|nochmal|warum|ma|anche|ancora|perché|"
    rf"и|\u0430|но|ещё|еще|также|тоже|продолжай|почему|опять|снова|그리고|하지만|계속|다시|왜){_END}"
    rf"|继续|还有|另外|但是|而且|为什么|不对|不是|再|続けて|それと|あと|でも|なぜ|どうして",
    re.IGNORECASE,
)
_PRAISES = re.compile(
    rf"(?:(?:muchas )?gracias|perfecto|genial|excelente|(?:muito )?obrigad[oa]|perfeito|ótimo|merci|parfait|danke|"
    rf"perfekt|grazie|perfetto|ottimo|спасибо|отлично|고마워요?|감사합니다|완벽해요?){_END}"
    rf"|(?:(?:ahora |ya )?funciona|agora funciona|ça marche|(?:es |das )?funktioniert|работает){_POINT}"
    rf"|谢谢|感谢|完美|很好|太好了|不错|ありがとう|完璧|いいですね",
    re.IGNORECASE,
)
_BLAMES = re.compile(
    rf"(?:(?:esto |eso )?(?:todavía |aún )?no funciona|sigue (?:sin funcionar|fallando)|está mal|"
    rf"(?:isso |ainda )?não funciona|(?:ça |cela )?ne (?:marche|fonctionne) (?:pas|toujours pas)|c'est faux|"
    rf"(?:das |es )?(?:funktioniert|geht) (?:immer noch )?nicht|das ist falsch|(?:ancora )?non funziona|"
    rf"(?:всё|все) (?:ещё|еще|равно) не работает|не работает|неправильно|안 돼요?|안돼요?|틀렸어요?){_END}"
    rf"|还是不行|不行|还是报错|报错了|不对|错了|動きません|動かない|違います|まだ(?:動|エラー)",
    re.IGNORECASE,
)


_BUT = re.compile(r"\b(?:but|aber|pero|mais|mas|ma|но)\b|但|不过|可是|でも|しかし|하지만|그런데", re.IGNORECASE)


def length(text: str) -> int:
    """About how many words ``text`` has."""
    return len(text.split()) + len(_UNSPACED.findall(text)) // 2


def answers(text: str) -> bool:
    """Whether it begins with an answer."""
    return _ANSWERS.match(text) is not None


def goes_on(text: str) -> bool:
    """Whether it begins as one goes on talking."""
    return _GOES_ON.match(text) is not None


def verdict_of(said: str) -> str | None:
    """``negative`` where it begins by saying that something does not work, ``positive`` where with thanks or praise.

    Praise with a "but" is neither.
    """
    first = said.lstrip(" \t\n\"'¡¿(")[:FIRST]
    if _BLAMES.match(first):
        return "negative"
    return "positive" if _PRAISES.match(first) and not _BUT.search(first) else None

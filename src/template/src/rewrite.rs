//! Python's `"text %s" % value`, which minijinja has only as a filter: where a string literal, or what is in parentheses, stands in
//! front of a `%`, the operator becomes a call of the filter `_percent`. Lines stay, columns behind it in its line do not.

use std::ops::Range;

use minijinja::machinery::{tokenize, Token};
use minijinja::syntax::SyntaxConfig;

type Tokens<'a> = Vec<(Token<'a>, Range<usize>)>;

fn is_open(token: &Token) -> bool {
    matches!(token, Token::ParenOpen | Token::BracketOpen | Token::BraceOpen)
}

fn is_close(token: &Token) -> bool {
    matches!(token, Token::ParenClose | Token::BracketClose | Token::BraceClose)
}

/// Behind the bracket that closes what `at` opens.
fn behind_bracket(tokens: &Tokens, at: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (i, (token, _)) in tokens.iter().enumerate().skip(at) {
        if is_open(token) {
            depth += 1;
        } else if is_close(token) {
            depth -= 1;
            if depth == 0 {
                return Some(i + 1);
            }
        }
    }
    None
}

fn opening_of(tokens: &Tokens, close: usize) -> Option<usize> {
    let mut depth = 0usize;
    for i in (0..=close).rev() {
        if is_close(&tokens[i].0) {
            depth += 1;
        } else if is_open(&tokens[i].0) {
            depth -= 1;
            if depth == 0 {
                return Some(i);
            }
        }
    }
    None
}

/// Behind the operand that begins at `at`: signs, a primary, and what follows it by `.`, `[`, `(` or `|`.
fn behind_operand(tokens: &Tokens, mut at: usize) -> Option<usize> {
    while matches!(tokens.get(at)?.0, Token::Minus | Token::Plus) {
        at += 1;
    }
    at = if is_open(&tokens.get(at)?.0) { behind_bracket(tokens, at)? } else { at + 1 };
    loop {
        match tokens.get(at).map(|t| &t.0) {
            Some(Token::Dot | Token::Pipe) => at += 2,
            Some(Token::ParenOpen | Token::BracketOpen) => at = behind_bracket(tokens, at)?,
            _ => return Some(at),
        }
    }
}

/// Whether what ends before `at` is text for certain, or something in parentheses that no operator binds before.
fn is_left(tokens: &Tokens, at: usize) -> bool {
    match at.checked_sub(1).map(|i| &tokens[i].0) {
        Some(Token::Str(_) | Token::String(_)) => true,
        Some(Token::ParenClose) => match opening_of(tokens, at - 1) {
            Some(open) => match open.checked_sub(1).map(|i| &tokens[i].0) {
                Some(Token::Mul | Token::Div | Token::FloorDiv | Token::Mod | Token::Minus | Token::Plus | Token::Pow) => false,
                Some(Token::Ident(word)) => matches!(*word, "in" | "is" | "and" | "or" | "not" | "if" | "else"),
                Some(Token::BracketClose | Token::ParenClose) => false,
                _ => true,
            },
            None => false,
        },
        _ => false,
    }
}

/// None: there is nothing to rewrite, or it is no template, which the parser says better.
pub fn percent(source: &str, syntax: &SyntaxConfig) -> Option<String> {
    if !source.contains('%') {
        return None;
    }
    let mut tokens: Tokens = Vec::new();
    for token in tokenize(source, false, syntax.clone()) {
        let (token, span) = token.ok()?;
        tokens.push((token, span.start_offset as usize..span.end_offset as usize));
    }
    let mut inserts: Vec<(usize, &str, usize)> = Vec::new();
    for at in 0..tokens.len() {
        if matches!(tokens[at].0, Token::Mod) && is_left(&tokens, at) {
            let end = behind_operand(&tokens, at + 1)?;
            inserts.push((tokens[at].1.start, "|_percent(", 1));
            inserts.push((tokens[end - 1].1.end, ")", 0));
        }
    }
    if inserts.is_empty() {
        return None;
    }
    inserts.sort_by_key(|&(at, _, replaced)| (at, replaced));
    let (mut text, mut from) = (String::with_capacity(source.len() + 16 * inserts.len()), 0);
    for (at, insert, replaced) in inserts {
        text.push_str(&source[from..at]);
        text.push_str(insert);
        from = at + replaced;
    }
    text.push_str(&source[from..]);
    Some(text)
}

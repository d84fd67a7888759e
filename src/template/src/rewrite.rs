//! Python's `"text %s" % value`, which minijinja has only as a filter: the operator `%` becomes a call of the filter `_percent`, which
//! does what the operator does with numbers. Lines stay; `Insert` says which column was which.

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

/// The bracket that belongs to the one at `at`.
fn partner(tokens: &Tokens, at: usize) -> Option<usize> {
    let forward = is_open(&tokens[at].0);
    let mut depth = 0i32;
    let mut is_partner = |&i: &usize| {
        let (open, close) = (is_open(&tokens[i].0), is_close(&tokens[i].0));
        depth += if open == forward { i32::from(open || close) } else { -i32::from(open || close) };
        depth == 0
    };
    if forward {
        (at..tokens.len()).find(&mut is_partner)
    } else {
        (0..=at).rev().find(&mut is_partner)
    }
}

/// Behind the operand that begins at `at`: signs, a primary, and what follows it by `.`, `[`, `(` or `|`.
fn behind_operand(tokens: &Tokens, mut at: usize) -> Option<usize> {
    while matches!(tokens.get(at)?.0, Token::Minus | Token::Plus) {
        at += 1;
    }
    at = if is_open(&tokens.get(at)?.0) { partner(tokens, at)? + 1 } else { at + 1 };
    loop {
        match tokens.get(at).map(|t| &t.0) {
            Some(Token::Dot | Token::Pipe) => at += 2,
            Some(Token::ParenOpen | Token::BracketOpen) => at = partner(tokens, at)? + 1,
            _ => return (at <= tokens.len()).then_some(at),
        }
    }
}

/// Where the operand begins that ends before `at`: a primary, and what follows it by `.`, `[`, `(` or `|`.
fn begin_of_operand(tokens: &Tokens, at: usize) -> Option<usize> {
    let mut begin = at.checked_sub(1)?;
    loop {
        if is_close(&tokens[begin].0) {
            begin = partner(tokens, begin)?;
            // A call or a subscript belongs to what stands before it; anything else in brackets is a primary.
            match begin.checked_sub(1).map(|i| &tokens[i].0) {
                Some(Token::Ident(word)) if !is_word(word) => begin -= 1,
                Some(Token::Str(_) | Token::String(_)) => begin -= 1,
                Some(token) if is_close(token) => {
                    begin -= 1;
                    continue;
                }
                _ => {}
            }
        }
        match begin.checked_sub(1).map(|i| &tokens[i].0) {
            Some(Token::Dot | Token::Pipe) => begin = begin.checked_sub(2)?,
            // Literals side by side are one.
            Some(Token::Str(_) | Token::String(_)) => begin -= 1,
            _ => return Some(begin),
        }
    }
}

fn is_word(word: &str) -> bool {
    matches!(word, "in" | "is" | "and" | "or" | "not" | "if" | "else" | "elif" | "set" | "do" | "call" | "with")
}

/// Whether a filter behind the operand before `at` would take just this operand: nothing that binds as `%` does stands before it.
fn is_left(tokens: &Tokens, at: usize) -> bool {
    let Some(begin) = begin_of_operand(tokens, at) else { return false };
    match begin.checked_sub(1).map(|i| &tokens[i].0) {
        Some(Token::Mul | Token::Div | Token::FloorDiv | Token::Mod | Token::Pow | Token::Pipe | Token::Dot) => false,
        Some(Token::Ident(word)) => *word != "is",
        _ => true,
    }
}

/// Bytes that came in at a byte of what was rewritten, in the place of some.
pub struct Insert {
    at: usize,
    len: usize,
    replaced: usize,
}

/// Which byte of the template it was.
pub fn original(inserts: &[Insert], at: usize) -> usize {
    let mut original = at;
    for insert in inserts.iter().take_while(|i| i.at < at) {
        if at < insert.at + insert.len {
            return original - (at - insert.at);
        }
        original = original - insert.len + insert.replaced;
    }
    original
}

/// None: there is nothing to rewrite, or it is no template, which the parser says better.
pub fn percent(source: &str, syntax: &SyntaxConfig) -> Option<(String, Vec<Insert>)> {
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
            // A test binds more than the operator does: what it would be of is no text.
            if matches!(tokens.get(end).map(|t| &t.0), Some(Token::Ident("is"))) {
                continue;
            }
            inserts.push((tokens[at].1.start, "|_percent(", 1));
            inserts.push((tokens[end - 1].1.end, ")", 0));
        }
    }
    if inserts.is_empty() {
        return None;
    }
    inserts.sort_by_key(|&(at, _, replaced)| (at, replaced));
    let (mut text, mut from, mut done) = (String::with_capacity(source.len() + 16 * inserts.len()), 0, Vec::new());
    for (at, insert, replaced) in inserts {
        text.push_str(&source[from..at]);
        done.push(Insert { at: text.len(), len: insert.len(), replaced });
        text.push_str(insert);
        from = at + replaced;
    }
    text.push_str(&source[from..]);
    Some((text, done))
}

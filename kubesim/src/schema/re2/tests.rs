//! Patterns, with what Go's `regexp` makes of them.

use super::Pattern;

#[test]
fn patterns_match_as_in_go() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        (r"^\w{0,253}$", &["", "a_9"], &["é", "a-b"]),
        (r"^\d+$", &["019"], &["٣", ""]),
        (r"^\s$", &[" ", "\t", "\u{c}"], &["\u{a0}", "\u{b}"]),
        (r"^\W$", &["é", "-"], &["a"]),
        (r"^[\w.-]+$", &["a.b-c"], &["é"]),
        (r"^[^\d]$", &["٣", "a"], &["1"]),
        (r"\bx\b", &["x", "éxé", "-x-"], &["axa"]),
        (r"^.{3}$", &["äöü"], &["ab", "a\nb"]),
        (r"^(?i)abc$", &["ABC"], &["abd"]),
        (r"(?m)^b$", &["a\nb"], &["a\nbc"]),
        (r"(?s)^a.b$", &["a\nb"], &["ab"]),
        (r"^a$", &["a"], &["a\n"]),
        (r"^a{,3}$", &["a{,3}"], &["aaa"]),
        (r"^a{x}$", &["a{x}"], &["a"]),
        (r"^[a[b]$", &["[", "a"], &["a["]),
        (r"^[a&&b]$", &["a", "&"], &["ab"]),
        (r"^[]a-]$", &["]", "-"], &["b"]),
        (r"^[[:alpha:]\pN]+$", &["a٣"], &["é"]),
        (r"^\Qa.b\E$", &["a.b"], &["axb"]),
        (r"^\<\_$", &["<_"], &["_"]),
        (r"^\p{^Greek}\P{Latin}$", &["aα"], &["αα", "aa"]),
        (r"^\x{41}\101\x41$", &["AAA"], &["A"]),
        (r"(?P<n>a)(?<m>b)", &["ab"], &["a"]),
    ];
    for (pattern, matching, others) in cases {
        let compiled = Pattern::new(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}"));
        for text in *matching {
            assert!(compiled.is_match(text), "{pattern} matches {text:?}");
        }
        for text in *others {
            assert!(
                !compiled.is_match(text),
                "{pattern} does not match {text:?}"
            );
        }
    }
}

#[test]
fn patterns_are_refused_as_in_go() {
    for (pattern, why) in [
        ("^a{1001}$", "invalid repeat count: `{1001}`"),
        ("^(a{100}){11}$", "invalid repeat count: `{11}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("^(?=a)a$", "invalid or unsupported Perl syntax: `(?=`"),
        ("^(?!a)b$", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("a)", "unexpected ): `a)`"),
        ("(?-)a", "invalid or unsupported Perl syntax: `(?-)`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"[a-\d]", r"invalid escape sequence: `\d`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("(?x)a b", "invalid or unsupported Perl syntax: `(?x`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        ("^a**$", "invalid nested repetition operator: `**`"),
        ("a++", "invalid nested repetition operator: `++`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        (r"^\Z$", r"invalid escape sequence: `\Z`"),
        (r"^\h$", r"invalid escape sequence: `\h`"),
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
    ] {
        let want = format!("error parsing regexp: {why}");
        assert_eq!(Pattern::new(pattern).err(), Some(want), "{pattern}");
    }
}

#[test]
fn a_thousand_repeats_are_allowed() {
    assert!(Pattern::new(r"^(\pL{10}){100}$").is_ok());
    assert!(Pattern::new("^a{1000}$").is_ok());
    assert!(Pattern::new("^(?:a{50}|b{2}){20}$").is_ok());
}

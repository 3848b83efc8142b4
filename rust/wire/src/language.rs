//! The language of a peer, as headers name it: a word in JSON, one byte in the binary form.

/// What a peer says it is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)] // The names say it.
pub enum Language {
    /// Compat: a header that does not say is a Java peer's.
    #[default]
    Java,
    Cpp,
    DotNet,
    Python,
    Delphi,
    Erlang,
    Ruby,
    Other,
    Http,
    Go,
    Php,
    Oms,
    Rust,
    NodeJs,
    /// A number that no version defines, kept so that a binary header encodes to the same bytes again.
    Unknown(u8),
}

/// Every language at the index that is its number, with its name in JSON.
const LANGUAGES: [(Language, &str); 14] = [
    (Language::Java, "JAVA"),
    (Language::Cpp, "CPP"),
    (Language::DotNet, "DOTNET"),
    (Language::Python, "PYTHON"),
    (Language::Delphi, "DELPHI"),
    (Language::Erlang, "ERLANG"),
    (Language::Ruby, "RUBY"),
    (Language::Other, "OTHER"),
    (Language::Http, "HTTP"),
    (Language::Go, "GO"),
    (Language::Php, "PHP"),
    (Language::Oms, "OMS"),
    (Language::Rust, "RUST"),
    (Language::NodeJs, "NODE_JS"),
];

impl Language {
    /// The language of a number.
    #[must_use]
    pub fn from_code(code: u8) -> Self {
        LANGUAGES.get(usize::from(code)).map_or(Self::Unknown(code), |entry| entry.0)
    }

    /// The number of the language.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Unknown(code) => code,
            known => {
                LANGUAGES.iter().zip(0..).find(|(entry, _)| entry.0 == known).map_or(7, |(_, code)| code)
            }
        }
    }

    /// The language of a name; names that no version defines are [`Language::Other`].
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        LANGUAGES.iter().find(|entry| entry.1 == name).map_or(Self::Other, |entry| entry.0)
    }

    /// The name in JSON. Compat: Java reads an unknown name as null and then fails, so unknown numbers are `OTHER`.
    #[must_use]
    pub fn name(self) -> &'static str {
        LANGUAGES.iter().find(|entry| entry.0 == self).map_or("OTHER", |entry| entry.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_comes_back() {
        for code in 0..=u8::MAX {
            assert_eq!(Language::from_code(code).code(), code);
        }
    }

    #[test]
    fn every_known_name_comes_back() {
        for (language, name) in LANGUAGES {
            assert_eq!(Language::from_name(name), language);
            assert_eq!(language.name(), name);
        }
        assert_eq!(Language::from_name("COBOL"), Language::Other);
        assert_eq!(Language::Unknown(77).name(), "OTHER");
        assert_eq!(Language::from_code(13), Language::NodeJs);
    }
}

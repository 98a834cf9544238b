//! The variables of a template: names and values, in order.

/// The value of a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Variable {
    /// One text.
    Text(String),
    /// A list of texts.
    List(Vec<String>),
    /// A map. Only for expanding; matching never yields it.
    Pairs(Vec<(String, String)>),
}

impl Variable {
    /// The text, when it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The list, when it is one.
    pub fn as_list(&self) -> Option<&[String]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }
}

impl From<&str> for Variable {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Variable {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for Variable {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

/// Names and values. Keeps the order in which names were first given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(Vec<(String, Variable)>);

impl Variables {
    /// No variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives a variable a value, in place of the one it had.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<Variable>) {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, held)) => *held = value,
            None => self.0.push((name, value)),
        }
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&Variable> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The text of a variable, when it has one.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    /// The names and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Variable)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// How many variables there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, V: Into<Variable>> FromIterator<(N, V)> for Variables {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let mut variables = Self::new();
        for (name, value) in pairs {
            variables.set(name, value);
        }
        variables
    }
}

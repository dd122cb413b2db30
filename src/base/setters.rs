//! Setters for requests: `SearchRequest::of("lock").limit(5).deep(true)`.

/// Writes a setter for each field that is named.
macro_rules! setters {
    ($(<$($life:lifetime),+>)? $type:ty { $($name:ident: $kind:ty),+ $(,)? }) => {
        impl$(<$($life),+>)? $type {
            $(
                #[doc = concat!("Sets [`", stringify!($name), "`](Self::", stringify!($name), ").")]
                pub fn $name(mut self, $name: impl Into<$kind>) -> Self {
                    self.$name = $name.into();
                    self
                }
            )+
        }
    };
}

pub(crate) use setters;

//! Variants: the tables of `platform.NAME` are laid over the description.

use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// The key of the variants.
const KEY: &str = "platform";

/// The description as it is on a platform.
pub(crate) fn on<'a>(whole: &Spanned<DeTable<'a>>, platform: &str) -> Spanned<DeTable<'a>> {
    let mut table = whole.get_ref().clone();
    let variant = table
        .get(KEY)
        .and_then(|variants| variants.get_ref().as_table()?.get(platform))
        .and_then(|variant| variant.get_ref().as_table())
        .cloned();
    table.remove(KEY);
    if let Some(variant) = variant {
        lay_over(&mut table, variant);
    }
    Spanned::new(whole.span(), table)
}

/// Tables are merged, everything else is replaced.
fn lay_over<'a>(base: &mut DeTable<'a>, variant: DeTable<'a>) {
    for (key, value) in variant {
        let known = base.get_mut(key.get_ref().as_ref());
        match (known.map(Spanned::get_mut), value.get_ref()) {
            (Some(DeValue::Table(base)), DeValue::Table(more)) => lay_over(base, more.clone()),
            _ => {
                // Removed first, so that the new key's place is known, too.
                base.remove(key.get_ref().as_ref());
                base.insert(key, value);
            }
        }
    }
}

//! Derives `Wire` for an enum of unit variants: a closed set of strings.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Ident, Variant};

use super::attributes::{MemberAttributes, TypeAttributes, camel_case, description};

pub(crate) fn expand(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    let ident = &input.ident;
    let attributes = TypeAttributes::parse(&input.attrs)?;
    let name = super::object::name_constants(&attributes);
    let about = description(&input.attrs);
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let words = data.variants.iter().map(word).collect::<syn::Result<Vec<_>>>()?;
    let as_str = as_str(ident, &variants, &words);
    Ok(quote! {
        #as_str

        impl crate::wire::Wire for #ident {
            #name

            fn read(
                value: &::serde_json::value::RawValue,
                _dialect: crate::Dialect,
            ) -> ::std::result::Result<Self, crate::ReadError> {
                let word = crate::json::text(value)?;
                match &*word {
                    #(#words => Ok(Self::#variants),)*
                    other => Err(crate::ReadError::not_one_of(other, &[#(#words),*])),
                }
            }

            fn write<S: ::serde::Serializer>(
                &self,
                _revision: crate::Revision,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }

            fn schema(_definitions: &mut crate::wire::schema::Definitions) -> ::schemars::Schema {
                ::schemars::json_schema!({ "type": "string", "enum": [#(#words),*], "description": #about })
            }

            #[cfg(feature = "proptest")]
            fn any_value(_revision: crate::Revision) -> ::proptest::strategy::BoxedStrategy<Self> {
                use ::proptest::strategy::Strategy;
                ::proptest::sample::select(vec![#(Self::#variants),*]).boxed()
            }
        }

        crate::wire::serde_at_published_revision!(#ident);
    })
}

/// Returns the word of a variant on the wire: the one that `rename` gives, or the variant's name in camel case.
fn word(variant: &Variant) -> syn::Result<String> {
    let mut initial = variant.ident.to_string();
    initial[..1].make_ascii_lowercase();
    Ok(MemberAttributes::parse(&variant.attrs)?.rename.map_or_else(|| camel_case(&initial), |word| word.value()))
}

fn as_str(ident: &Ident, variants: &[&Ident], words: &[String]) -> TokenStream {
    quote! {
        impl #ident {
            /// Returns the text that stands for this value on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { #(Self::#variants => #words),* }
            }
        }
    }
}

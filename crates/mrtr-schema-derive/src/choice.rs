//! An enum of newtype variants: objects told apart by one member.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields};

use crate::attributes::{MemberAttributes, TypeAttributes, description};

pub(crate) fn expand(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    let ident = &input.ident;
    let attributes = TypeAttributes::parse(&input.attrs)?;
    let name = crate::object::name_constants(&attributes);
    let about = description(&input.attrs);
    let tag = attributes
        .tag
        .as_ref()
        .ok_or_else(|| syn::Error::new_spanned(input, "say which member tells the variants apart: tag = \"…\""))?;

    let (mut variants, mut types, mut values, mut available) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for variant in &data.variants {
        let attributes = MemberAttributes::parse(&variant.attrs)?;
        let Fields::Unnamed(fields) = &variant.fields else {
            return Err(syn::Error::new_spanned(variant, "a variant holds one wire type"));
        };
        variants.push(&variant.ident);
        types.push(&fields.unnamed[0].ty);
        values.push(
            attributes.value.ok_or_else(|| syn::Error::new_spanned(variant, "say the tag's value: value = \"…\""))?,
        );
        available.push(attributes.when.map_or_else(|| quote!(true), |feature| quote!(revision.has(#feature))));
    }

    Ok(quote! {
        impl crate::wire::Wire for #ident {
            #name

            fn read(
                value: &::serde_json::value::RawValue,
                dialect: crate::Dialect,
            ) -> ::std::result::Result<Self, crate::ReadError> {
                crate::wire::WireObject::read_members(crate::json::RawMembers::of(value)?, dialect)
            }

            fn write<S: ::serde::Serializer>(
                &self,
                revision: crate::Revision,
                serializer: S,
            ) -> ::std::result::Result<S::Ok, S::Error> {
                match self { #(Self::#variants(body) => body.write(revision, serializer)),* }
            }

            fn schema(definitions: &mut crate::json_schema::Definitions) -> ::schemars::Schema {
                let revision = definitions.dialect().revision;
                let mut choices = Vec::new();
                #(if #available { choices.push(definitions.reference::<#types>()); })*
                ::schemars::json_schema!({ "anyOf": choices, "description": #about })
            }

            #[cfg(feature = "proptest")]
            fn any_value(revision: crate::Revision) -> ::proptest::strategy::BoxedStrategy<Self> {
                use ::proptest::strategy::Strategy;
                let mut choices: Vec<::proptest::strategy::BoxedStrategy<Self>> = Vec::new();
                #(if #available {
                    choices.push(<#types as crate::wire::Wire>::any_value(revision).prop_map(Self::#variants).boxed());
                })*
                ::proptest::strategy::Union::new(choices).boxed()
            }
        }

        impl crate::wire::WireObject for #ident {
            fn read_members(
                members: crate::json::RawMembers<'_>,
                dialect: crate::Dialect,
            ) -> ::std::result::Result<Self, crate::ReadError> {
                let revision = dialect.revision;
                let tag = members.tag(#tag)?;
                match &*tag {
                    #(#values if #available => crate::wire::WireObject::read_members(members, dialect).map(Self::#variants),)*
                    other => Err(crate::ReadError::not_one_of(other, &[#(#values),*]).in_member(#tag)),
                }
            }

            fn write_members<M: ::serde::ser::SerializeMap>(
                &self,
                revision: crate::Revision,
                map: &mut M,
            ) -> ::std::result::Result<(), M::Error> {
                match self { #(Self::#variants(body) => body.write_members(revision, map)),* }
            }
        }

        #(impl ::std::convert::From<#types> for #ident {
            fn from(body: #types) -> Self {
                Self::#variants(body)
            }
        })*

        crate::wire::serde_at_published_revision!(#ident);
    })
}

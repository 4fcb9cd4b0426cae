//! Derives `Wire` for an enum of newtype variants: objects told apart by one member.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Fields, Ident, LitStr, Type, Variant};

use super::attributes::{MemberAttributes, TypeAttributes, description};

pub(crate) fn expand(input: &DeriveInput, data: &DataEnum) -> syn::Result<TokenStream> {
    let attributes = TypeAttributes::parse(&input.attrs)?;
    let variants = data.variants.iter().map(Choice::parse).collect::<syn::Result<Vec<_>>>()?;
    let tag = attributes
        .tag
        .as_ref()
        .ok_or_else(|| syn::Error::new_spanned(input, "say which member tells the variants apart: tag = \"…\""))?;
    let ident = &input.ident;
    let wire = wire(input, &attributes, &variants);
    let wire_object = wire_object(ident, tag, &variants);
    let conversions = conversions(ident, &variants);
    Ok(quote! {
        #wire
        #wire_object
        #conversions
        crate::wire::serde_at_published_revision!(#ident);
    })
}

/// One of the objects that the enum has as variants.
struct Choice<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    /// The value of the tag for this object.
    value: LitStr,
    /// An expression: true if `revision` has the object.
    exists: TokenStream,
}

impl<'a> Choice<'a> {
    fn parse(variant: &'a Variant) -> syn::Result<Self> {
        let attributes = MemberAttributes::parse(&variant.attrs)?;
        let Fields::Unnamed(fields) = &variant.fields else {
            return Err(syn::Error::new_spanned(variant, "a variant holds one wire type"));
        };
        let value =
            attributes.value.ok_or_else(|| syn::Error::new_spanned(variant, "say the tag's value: value = \"…\""))?;
        let exists = attributes.when.map_or_else(|| quote!(true), |feature| quote!(revision.has(#feature)));
        Ok(Self { ident: &variant.ident, ty: &fields.unnamed[0].ty, value, exists })
    }
}

fn wire(input: &DeriveInput, attributes: &TypeAttributes, variants: &[Choice<'_>]) -> TokenStream {
    let ident = &input.ident;
    let name = super::object::name_constants(attributes);
    let variant_idents = variants.iter().map(|variant| variant.ident);
    let schema = schema(&description(&input.attrs), variants);
    let any_value = any_value(variants);
    quote! {
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
                match self { #(Self::#variant_idents(body) => body.write(revision, serializer)),* }
            }

            #schema
            #any_value
        }
    }
}

fn schema(about: &str, variants: &[Choice<'_>]) -> TokenStream {
    let choices = variants
        .iter()
        .map(|Choice { ty, exists, .. }| quote!(if #exists { choices.push(definitions.reference::<#ty>()); }));
    quote! {
        fn schema(definitions: &mut crate::wire::schema::Definitions) -> ::schemars::Schema {
            let revision = definitions.dialect().revision;
            let mut choices = Vec::new();
            #(#choices)*
            ::schemars::json_schema!({ "anyOf": choices, "description": #about })
        }
    }
}

fn any_value(variants: &[Choice<'_>]) -> TokenStream {
    let choices = variants.iter().map(|Choice { ident, ty, exists, .. }| {
        quote!(if #exists {
            choices.push(<#ty as crate::wire::Wire>::any_value(revision).prop_map(Self::#ident).boxed());
        })
    });
    quote! {
        #[cfg(feature = "proptest")]
        fn any_value(revision: crate::Revision) -> ::proptest::strategy::BoxedStrategy<Self> {
            use ::proptest::strategy::Strategy;
            let mut choices: Vec<::proptest::strategy::BoxedStrategy<Self>> = Vec::new();
            #(#choices)*
            ::proptest::strategy::Union::new(choices).boxed()
        }
    }
}

fn wire_object(ident: &Ident, tag: &LitStr, variants: &[Choice<'_>]) -> TokenStream {
    let values = variants.iter().map(|variant| &variant.value);
    let variant_idents = variants.iter().map(|variant| variant.ident);
    let reads = variants.iter().map(|Choice { ident, value, exists, .. }| {
        quote!(#value if #exists => crate::wire::WireObject::read_members(members, dialect).map(Self::#ident))
    });
    quote! {
        impl crate::wire::WireObject for #ident {
            fn read_members(
                members: crate::json::RawMembers<'_>,
                dialect: crate::Dialect,
            ) -> ::std::result::Result<Self, crate::ReadError> {
                let revision = dialect.revision;
                let tag = members.tag(#tag)?;
                match &*tag {
                    #(#reads,)*
                    other => Err(crate::ReadError::not_one_of(other, &[#(#values),*]).in_member(#tag)),
                }
            }

            fn write_members<M: ::serde::ser::SerializeMap>(
                &self,
                revision: crate::Revision,
                map: &mut M,
            ) -> ::std::result::Result<(), M::Error> {
                match self { #(Self::#variant_idents(body) => body.write_members(revision, map)),* }
            }
        }
    }
}

/// Implements `From` for each object, which becomes the variant that holds it.
fn conversions(ident: &Ident, variants: &[Choice<'_>]) -> TokenStream {
    let conversions = variants.iter().map(|Choice { ident: variant, ty, .. }| {
        quote! {
            impl ::std::convert::From<#ty> for #ident {
                fn from(body: #ty) -> Self {
                    Self::#variant(body)
                }
            }
        }
    });
    quote!(#(#conversions)*)
}

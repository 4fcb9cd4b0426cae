//! Derives `Wire` for a struct: an object with named members, and whatever else its sender put in.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ext::IdentExt;
use syn::{DeriveInput, FieldsNamed, Ident, LitStr, Type};

use super::attributes::{MemberAttributes, TypeAttributes, camel_case, description};

pub(crate) fn expand(input: &DeriveInput, fields: &FieldsNamed) -> syn::Result<TokenStream> {
    let ident = &input.ident;
    let attributes = TypeAttributes::parse(&input.attrs)?;
    let members = fields.named.iter().map(Member::parse).collect::<syn::Result<Vec<_>>>()?;
    let constructor = constructor(ident, &members);
    let code = Code::of(&attributes, &members);
    if attributes.part {
        let part = part(ident, &code);
        return Ok(quote!(#constructor #part));
    }
    keeps_unknown_members(input, &members)?;
    let object = object(input, &attributes, &code);
    Ok(quote!(#constructor #object))
}

/// The code that objects and parts of objects have in common.
struct Code {
    names: TokenStream,
    reads: TokenStream,
    writes: TokenStream,
    properties: TokenStream,
    any_value: TokenStream,
}

impl Code {
    fn of(attributes: &TypeAttributes, members: &[Member<'_>]) -> Self {
        let (keys, values): (Vec<_>, Vec<_>) = attributes.constants.iter().cloned().unzip();
        let idents: Vec<_> = members.iter().map(|member| member.ident).collect();
        let reads = members.iter().map(Member::read);
        let writes = members.iter().map(Member::write);
        let properties = members.iter().filter(|member| !member.attributes.extra).map(Member::property);
        let strategies = members.iter().map(Member::strategy);
        let named = members.iter().filter(|member| !member.attributes.extra).map(Member::named);
        Self {
            names: quote! {
                let _ = revision;
                match key {
                    #(#keys => true,)*
                    _ => false #(|| #named)*,
                }
            },
            reads: quote! {
                #(members.constant(#keys, #values)?;)*
                #(#reads)*
                Ok(Self { #(#idents),* })
            },
            writes: quote! {
                let _ = revision;
                #(map.serialize_entry(#keys, #values)?;)*
                #(#writes)*
                Ok(())
            },
            properties: quote! {
                let dialect = definitions.dialect();
                let _ = dialect;
                #(object.constant(#keys, #values);)*
                #(#properties)*
            },
            any_value: quote! {
                use ::proptest::strategy::Strategy;
                let _ = revision;
                #(let #idents = #strategies;)*
                crate::wire::arbitrary::nest!(#(#idents),*)
                    .prop_map(|crate::wire::arbitrary::nested!(#(#idents),*)| Self { #(#idents),* })
                    .boxed()
            },
        }
    }
}

fn object(input: &DeriveInput, attributes: &TypeAttributes, code: &Code) -> TokenStream {
    let ident = &input.ident;
    let wire = wire(input, attributes, code);
    let wire_object = wire_object(ident, code);
    quote! {
        #wire
        #wire_object
        crate::wire::serde_at_published_revision!(#ident);
    }
}

fn wire(input: &DeriveInput, attributes: &TypeAttributes, code: &Code) -> TokenStream {
    let ident = &input.ident;
    let name = name_constants(attributes);
    let about = description(&input.attrs);
    let open = attributes.open.then(|| quote!(object.open();));
    let Code { properties, any_value, .. } = code;
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
                crate::wire::write_object(self, revision, serializer)
            }

            fn schema(definitions: &mut crate::wire::schema::Definitions) -> ::schemars::Schema {
                let mut object = crate::wire::schema::ObjectSchema::new(#about);
                #properties
                #open
                object.finish()
            }

            #[cfg(feature = "proptest")]
            fn any_value(revision: crate::Revision) -> ::proptest::strategy::BoxedStrategy<Self> {
                #any_value
            }
        }
    }
}

fn wire_object(ident: &Ident, code: &Code) -> TokenStream {
    let Code { names, reads, writes, .. } = code;
    quote! {
        impl crate::wire::WireObject for #ident {
            fn read_members(
                mut members: crate::json::RawMembers<'_>,
                dialect: crate::Dialect,
            ) -> ::std::result::Result<Self, crate::ReadError> {
                #reads
            }

            fn write_members<M: ::serde::ser::SerializeMap>(
                &self,
                revision: crate::Revision,
                map: &mut M,
            ) -> ::std::result::Result<(), M::Error> {
                let named = |key: &str| -> bool { #names };
                #writes
            }
        }
    }
}

fn part(ident: &Ident, code: &Code) -> TokenStream {
    let Code { names, reads, writes, properties, any_value } = code;
    quote! {
        impl crate::wire::Part for #ident {
            fn names(key: &str, revision: crate::Revision) -> bool {
                #names
            }

            fn take(
                members: &mut crate::json::RawMembers<'_>,
                dialect: crate::Dialect,
            ) -> ::std::result::Result<Self, crate::ReadError> {
                #reads
            }

            fn write_members<M: ::serde::ser::SerializeMap>(
                &self,
                revision: crate::Revision,
                map: &mut M,
            ) -> ::std::result::Result<(), M::Error> {
                #writes
            }

            fn describe(
                object: &mut crate::wire::schema::ObjectSchema,
                definitions: &mut crate::wire::schema::Definitions,
            ) {
                #properties
            }

            #[cfg(feature = "proptest")]
            fn any_value(revision: crate::Revision) -> ::proptest::strategy::BoxedStrategy<Self> {
                #any_value
            }
        }
    }
}

/// Returns `const NAME`, for a type that has a definition of its own, and `const WHEN`, for one that not every revision
/// has.
pub(crate) fn name_constants(attributes: &TypeAttributes) -> TokenStream {
    let name = attributes.name.as_ref().map_or_else(|| quote!(None), |name| quote!(Some(#name)));
    let when = attributes.when.as_ref().map(|when| quote!(const WHEN: Option<crate::Feature> = Some(#when);));
    quote!(const NAME: Option<&'static str> = #name; #when)
}

struct Member<'a> {
    ident: &'a Ident,
    key: String,
    ty: &'a Type,
    /// The `T` of an `Option<T>`.
    optional: Option<&'a Type>,
    about: String,
    attributes: MemberAttributes,
}

impl<'a> Member<'a> {
    fn parse(field: &'a syn::Field) -> syn::Result<Self> {
        let attributes = MemberAttributes::parse(&field.attrs)?;
        let ident = field.ident.as_ref().ok_or_else(|| syn::Error::new_spanned(field, "a field needs a name"))?;
        let key = attributes.rename.as_ref().map_or_else(|| camel_case(&ident.unraw().to_string()), LitStr::value);
        Ok(Self {
            ident,
            key,
            ty: &field.ty,
            optional: inside_option(&field.ty),
            about: description(&field.attrs),
            attributes,
        })
    }

    /// Returns an expression: true if the member exists in `revision`.
    fn exists(&self) -> TokenStream {
        self.attributes.when.as_ref().map_or_else(|| quote!(true), |feature| quote!(revision.has(#feature)))
    }

    /// Returns an expression: true if `key` is this member's in `revision`.
    fn named(&self) -> TokenStream {
        let (key, ty, exists) = (&self.key, self.ty, self.exists());
        if self.attributes.flatten {
            return quote!(<#ty as crate::wire::Part>::names(key, revision));
        }
        quote!((key == #key && #exists))
    }

    /// Returns an expression: true if `revision` demands the member, although it is an `Option`.
    fn demanded(&self) -> TokenStream {
        self.attributes.required.as_ref().map_or_else(|| quote!(false), |feature| quote!(revision.has(#feature)))
    }

    fn read(&self) -> TokenStream {
        let Self { ident, key, .. } = self;
        if self.attributes.extra {
            return quote!(let #ident = members.rest()?;);
        }
        if self.attributes.flatten {
            return quote!(let #ident = crate::wire::Part::take(&mut members, dialect)?;);
        }
        let (exists, demanded) = (self.exists(), self.demanded());
        let present = if self.optional.is_some() {
            let optional = format_ident!("{}", if self.attributes.lenient { "optional_or_null" } else { "optional" });
            let absent = match (&self.attributes.required, self.attributes.lenient) {
                (None, _) => quote!(),
                (Some(_), true) => quote!(None if #demanded => Some(members.or_default(#key, dialect)?),),
                (Some(_), false) => quote!(None if #demanded => return Err(crate::ReadError::missing(#key)),),
            };
            quote! {
                match members.#optional(#key, dialect)? {
                    #absent
                    value => value,
                }
            }
        } else if self.attributes.lenient {
            quote!(members.or_default(#key, dialect)?)
        } else {
            quote!(members.required(#key, dialect)?)
        };
        if self.attributes.when.is_none() && self.attributes.required.is_none() {
            return quote!(let #ident = #present;);
        }
        quote! {
            let revision = dialect.revision;
            let #ident = if #exists { #present } else { ::std::default::Default::default() };
        }
    }

    fn write(&self) -> TokenStream {
        let Self { ident, key, .. } = self;
        if self.attributes.extra {
            return quote!(self.#ident.write_into(map, named)?;);
        }
        if self.attributes.flatten {
            return quote!(crate::wire::Part::write_members(&self.#ident, revision, map)?;);
        }
        let (exists, demanded) = (self.exists(), self.demanded());
        let entry =
            |value: TokenStream| quote!(map.serialize_entry(#key, &crate::wire::InRevision::new(#value, revision))?;);
        if self.optional.is_some() {
            let entry = entry(quote!(value));
            quote! {
                match &self.#ident {
                    Some(value) if #exists => { #entry }
                    None if #demanded => return Err(crate::wire::missing_member(#key, revision)),
                    _ => {}
                }
            }
        } else {
            let entry = entry(quote!(&self.#ident));
            quote!(if #exists { #entry })
        }
    }

    fn property(&self) -> TokenStream {
        let Self { key, about, .. } = self;
        if self.attributes.flatten {
            let ty = self.ty;
            return quote!(<#ty as crate::wire::Part>::describe(&mut object, definitions););
        }
        let ty = self.optional.unwrap_or(self.ty);
        let format = self.attributes.format.as_ref().map(|format| quote!(.with_format(#format)));
        let or_null =
            (self.optional.is_some() && self.attributes.lenient).then(|| quote!(.or_null_unless(dialect.strict)));
        let (exists, demanded) = (self.exists(), self.demanded());
        let required = match (self.optional.is_some(), self.attributes.lenient) {
            (true, false) => demanded,
            (true, true) => quote!(dialect.strict && #demanded),
            (false, true) => quote!(dialect.strict),
            (false, false) => quote!(true),
        };
        quote! {
            {
                let revision = dialect.revision;
                let _ = revision;
                if #exists {
                    let property = crate::wire::schema::Property::of::<#ty>(definitions, #about) #format #or_null;
                    object.property(#key, property, #required);
                }
            }
        }
    }

    fn strategy(&self) -> TokenStream {
        let ty = self.ty;
        if self.attributes.extra {
            return quote!(crate::wire::arbitrary::extra_members());
        }
        if self.attributes.flatten {
            return quote!(<#ty as crate::wire::Part>::any_value(revision));
        }
        let (exists, demanded) = (self.exists(), self.demanded());
        let present = if let Some(ty) = self.optional {
            quote!(crate::wire::arbitrary::optional::<#ty>(revision, #demanded))
        } else {
            quote!(<#ty as crate::wire::Wire>::any_value(revision))
        };
        if self.attributes.when.is_none() {
            return present;
        }
        quote! {
            if #exists {
                #present
            } else {
                ::proptest::strategy::Just(<#ty as ::std::default::Default>::default()).boxed()
            }
        }
    }

    /// Returns true if the member has no default, so that the constructor takes it.
    fn is_required(&self) -> bool {
        self.optional.is_none() && !self.attributes.lenient && !self.attributes.extra
    }
}

/// Refuses an object without a place for unknown members, which must be kept and written again (TY-8).
fn keeps_unknown_members(input: &DeriveInput, members: &[Member<'_>]) -> syn::Result<()> {
    if members.iter().any(|member| member.attributes.extra) {
        return Ok(());
    }
    Err(syn::Error::new_spanned(input, "unknown members need a place: #[wire(extra)] pub extra: Members"))
}

fn constructor(ident: &Ident, members: &[Member<'_>]) -> TokenStream {
    let (required, rest): (Vec<&Member<'_>>, Vec<_>) = members.iter().partition(|member| member.is_required());
    let parameters: Vec<_> = required.iter().map(|member| member.ident).collect();
    let types = required.iter().map(|member| member.ty);
    let rest = rest.iter().map(|member| member.ident);
    let doc = format!("A `{ident}` with its required members; the others are left out until they are set.");
    quote! {
        impl #ident {
            #[doc = #doc]
            #[allow(clippy::new_without_default)]
            pub fn new(#(#parameters: impl ::std::convert::Into<#types>),*) -> Self {
                Self {
                    #(#parameters: #parameters.into(),)*
                    #(#rest: ::std::default::Default::default(),)*
                }
            }
        }
    }
}

fn inside_option(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last()?;
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match arguments.args.first()? {
        syn::GenericArgument::Type(inner) if segment.ident == "Option" => Some(inner),
        _ => None,
    }
}

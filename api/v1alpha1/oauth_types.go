// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// OAuthGrant is a way to obtain access tokens.
// +kubebuilder:validation:Enum=AuthorizationCode;ClientCredentials;WorkloadIdentity;EnterpriseManaged
type OAuthGrant string

// The grants.
const (
	// GrantAuthorizationCode: a person logs in.
	GrantAuthorizationCode OAuthGrant = "AuthorizationCode"
	// GrantClientCredentials: the client has a credential of its own.
	GrantClientCredentials OAuthGrant = "ClientCredentials"
	// GrantWorkloadIdentity: a ServiceAccount's token is exchanged.
	GrantWorkloadIdentity OAuthGrant = "WorkloadIdentity"
	// GrantEnterpriseManaged: an identity provider's assertion is exchanged.
	GrantEnterpriseManaged OAuthGrant = "EnterpriseManaged"
)

// CredentialScope says who shares a login.
// +kubebuilder:validation:Enum=Session;ServiceAccount;Server
type CredentialScope string

// The scopes of a login.
const (
	// CredentialScopeSession: a login belongs to one session and ends with it.
	CredentialScopeSession CredentialScope = "Session"
	// CredentialScopeServiceAccount: the sessions of one ServiceAccount share a login.
	CredentialScopeServiceAccount CredentialScope = "ServiceAccount"
	// CredentialScopeServer: every session that uses the server shares a login.
	CredentialScopeServer CredentialScope = "Server"
)

// CredentialStore says where credentials are kept.
// +kubebuilder:validation:Enum=Namespace;Operator
type CredentialStore string

// Where credentials are kept.
const (
	// CredentialStoreNamespace: in Secrets of the McpServer's namespace.
	CredentialStoreNamespace CredentialStore = "Namespace"
	// CredentialStoreOperator: in Secrets of the operator's namespace.
	CredentialStoreOperator CredentialStore = "Operator"
)

// IssuerChecks says how strictly an authorization server's identity is checked.
// +kubebuilder:validation:Enum=Strict;Relaxed
type IssuerChecks string

// How strictly an authorization server's identity is checked.
const (
	IssuerChecksStrict  IssuerChecks = "Strict"
	IssuerChecksRelaxed IssuerChecks = "Relaxed"
)

// OAuth says how access tokens are obtained. The server names its authorization server; its endpoints are never typed.
// +kubebuilder:validation:XValidation:rule="self.grant != 'ClientCredentials' || (has(self.client) && has(self.client.secretRef))",message="client.secretRef: must be set when grant is 'ClientCredentials'"
type OAuth struct {
	// grant is the way to obtain tokens.
	// +required
	Grant OAuthGrant `json:"grant,omitempty"`

	// scopes to ask for; at most 32. When absent, the server's challenge decides.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^[!#-\[\]-~]+$`
	Scopes []string `json:"scopes,omitempty"`

	// client is registered already. When absent, a metadata document is used, and then dynamic registration.
	// +optional
	Client *OAuthClient `json:"client,omitempty"`

	// credentialScope says who shares a login; Session when absent. The other two outlive a session.
	// +optional
	CredentialScope CredentialScope `json:"credentialScope,omitempty"`

	// credentialStore says where credentials are kept; Namespace when absent.
	// +optional
	CredentialStore CredentialStore `json:"credentialStore,omitempty"`

	// issuerChecks Relaxed tolerates authorization servers that break the issuer rules, and is audited; Strict when absent.
	// +optional
	IssuerChecks IssuerChecks `json:"issuerChecks,omitempty"`
}

// OAuthClient is a client that is registered at the authorization server.
type OAuthClient struct {
	// id of the client; at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	ID string `json:"id,omitempty"`

	// secretRef names the client's secret; a public client has none.
	// +optional
	SecretRef *SecretKeyReference `json:"secretRef,omitempty"`
}

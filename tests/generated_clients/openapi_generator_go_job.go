// The main job of the quickstart, with a Go client of OpenAPI Generator.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	api "client.example/attestlab/attestlab_api"
)

func must[Answer any](answer Answer, response any, err error) Answer {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return answer
}

func text(value string) *interface{} {
	var held interface{} = value
	return &held
}

func main() {
	url, key, sha256 := os.Args[1], os.Args[2], os.Args[3]
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: url}}
	client := api.NewAPIClient(configuration)
	anyone := context.Background()
	own := context.WithValue(anyone, api.ContextAPIKeys, map[string]api.APIKey{"apiKey": {Key: key}})

	registrar := api.NewIssuerInput("Registrar", "registrar.example")
	registrar.SetAlg(api.ALGORITHM_ED25519)
	issuer := must(client.IssuersAPI.CreateIssuer(own).IssuerInput(*registrar).Execute())

	claims := map[string]*interface{}{"student_name": text("Ada Lovelace"), "institution": text("University of London")}
	body := api.NewMintInput(issuer.Id, issuer.Keys[0].Kid, api.ALGORITHM_ED25519, api.SCHEMAID_DEGREE, claims)
	body.SetDocumentHash(sha256)
	mint := func() *api.MintResponse {
		return must(client.AttestationsAPI.MintAttestation(own).IdempotencyKey("go-1").MintInput(*body).Execute())
	}
	minted, again := mint(), mint()

	var policy api.PolicyInput
	must(0, nil, json.Unmarshal([]byte(os.Args[4]), &policy))
	made := must(client.PoliciesAPI.CreatePolicy(own).PolicyInput(policy).Execute())

	verify := func(id string, digest string) *api.VerificationResponse {
		wanted := api.NewVerificationInput(id)
		wanted.SetDocumentHashHex(digest)
		return must(client.AttestationsAPI.VerifyAttestation(anyone).VerificationInput(*wanted).Execute())
	}
	_, response, err := client.AttestationsAPI.GetProofBundle(own, minted.Id).Execute()
	must(0, nil, err)
	bundle := must(readAll(response.Body))
	found := map[string]interface{}{
		"minted_once": minted.Id == again.Id,
		"verdicts":    []interface{}{verify(minted.Id, sha256).Verdict, verify(minted.Id, fmt.Sprintf("%064d", 0)).Verdict},
		"unknown":     verify(issuer.Id, sha256),
		"rules":       made.Rules,
		"bundle":      string(bundle),
	}
	must(0, nil, json.NewEncoder(os.Stdout).Encode(found))
}

func readAll(body io.Reader) ([]byte, any, error) {
	content, err := io.ReadAll(body)
	return content, nil, err
}

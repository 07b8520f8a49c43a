// Package status writes errors as Kubernetes' API does.
package status

import (
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Write answers with an error as a Status object in JSON.
func Write(response http.ResponseWriter, failure *apierrors.StatusError) {
	body := failure.Status()
	body.APIVersion, body.Kind = "v1", "Status"
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(int(body.Code))
	_ = json.NewEncoder(response).Encode(body) // a client that has gone cannot be told anything
}

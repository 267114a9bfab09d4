package interop

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
)

var tlsConnectionString = os.Getenv("TABULARIUM_TLS_CONNECTION_STRING")

// bearer is to a client what the credentials of the identity library are.
type bearer string

func (token bearer) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: string(token), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// trusting makes clients accept the certificate of the server.
func trusting(t *testing.T) azcore.ClientOptions {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("TABULARIUM_CA")))(t))
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return azcore.ClientOptions{
		Transport: &http.Client{Transport: transport},
		Retry:     policy.RetryOptions{MaxRetries: -1},
	}
}

func useServices(t *testing.T, tables *aztables.ServiceClient, queues *azqueue.ServiceClient) {
	t.Helper()
	table := tables.NewClient(freshName("t"))
	must(table.CreateTable(ctx, nil))(t)
	must(table.AddEntity(ctx, keys("p", "r").bytes(t), nil))(t)
	equal(t, entities(t, table, nil), []object{keys("p", "r")})
	queue := queues.NewQueueClient(freshName("q"))
	must(queue.Create(ctx, nil))(t)
	send(t, queue, "text")
	equal(t, *take(t, queue, 60).MessageText, "text")
}

func TestHttpsWorksWithTheCertificateOfTheServer(t *testing.T) {
	options := trusting(t)
	useServices(t,
		must(aztables.NewServiceClientFromConnectionString(tlsConnectionString,
			&aztables.ClientOptions{ClientOptions: options}))(t),
		must(azqueue.NewServiceClientFromConnectionString(tlsConnectionString,
			&azqueue.ClientOptions{ClientOptions: options}))(t))
}

func TestHttpsIsNotTrustedWithoutTheCertificate(t *testing.T) {
	options := &aztables.ClientOptions{
		ClientOptions: azcore.ClientOptions{Retry: policy.RetryOptions{MaxRetries: -1}},
	}
	service := must(aztables.NewServiceClientFromConnectionString(tlsConnectionString, options))(t)
	_, err := service.GetProperties(ctx, nil)
	if err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Fatalf("expected a refusal of the certificate, found %v", err)
	}
}

func TestBearerTokensWork(t *testing.T) {
	options, token := trusting(t), bearer(os.Getenv("TABULARIUM_TOKEN"))
	endpoints := settingsOf(tlsConnectionString)
	useServices(t,
		must(aztables.NewServiceClient(endpoints["TableEndpoint"], token,
			&aztables.ClientOptions{ClientOptions: options}))(t),
		must(azqueue.NewServiceClient(endpoints["QueueEndpoint"], token,
			&azqueue.ClientOptions{ClientOptions: options}))(t))
}

func TestBearerTokenThatIsNotSignedIsRefused(t *testing.T) {
	parts := strings.Split(os.Getenv("TABULARIUM_TOKEN"), ".")
	forged := bearer(parts[0] + "." + parts[1] + ".AAAA")
	service := must(azqueue.NewServiceClient(settingsOf(tlsConnectionString)["QueueEndpoint"], forged,
		&azqueue.ClientOptions{ClientOptions: trusting(t)}))(t)
	answer, err := service.CreateQueue(ctx, freshName("q"), nil)
	refused(t, answer, err, 401, "InvalidAuthenticationInfo")
}

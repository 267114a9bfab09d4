package interop

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/aztables"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue"
)

// Properties belong to a whole service: each test sets those that it looks at.

func TestTablePropertiesAreSetAndGot(t *testing.T) {
	service := tableService(t)
	retention := &aztables.RetentionPolicy{Enabled: to.Ptr(true), Days: to.Ptr(int32(5))}
	metrics := &aztables.Metrics{
		Enabled: to.Ptr(true), IncludeAPIs: to.Ptr(true), RetentionPolicy: retention, Version: to.Ptr("1.0"),
	}
	properties := aztables.ServiceProperties{
		Logging: &aztables.Logging{
			Read: to.Ptr(true), Write: to.Ptr(true), Delete: to.Ptr(false),
			RetentionPolicy: retention, Version: to.Ptr("1.0"),
		},
		HourMetrics:   metrics,
		MinuteMetrics: metrics,
		Cors: []*aztables.CorsRule{{
			AllowedOrigins: to.Ptr("http://a.example,http://b.example"), AllowedMethods: to.Ptr("GET,PUT"),
			AllowedHeaders: to.Ptr("x-ms-*"), ExposedHeaders: to.Ptr("x-ms-meta-a"),
			MaxAgeInSeconds: to.Ptr(int32(500)),
		}},
	}
	must(service.SetProperties(ctx, properties, nil))(t)
	equal(t, must(service.GetProperties(ctx, nil))(t).ServiceProperties, properties)
}

func TestQueuePropertiesAreSetAndGot(t *testing.T) {
	service := queueService(t)
	retention := &azqueue.RetentionPolicy{Enabled: to.Ptr(true), Days: to.Ptr(int32(5))}
	metrics := &azqueue.Metrics{
		Enabled: to.Ptr(true), IncludeAPIs: to.Ptr(true), RetentionPolicy: retention, Version: to.Ptr("1.0"),
	}
	properties := azqueue.StorageServiceProperties{
		Logging: &azqueue.Logging{
			Read: to.Ptr(true), Write: to.Ptr(true), Delete: to.Ptr(false),
			RetentionPolicy: retention, Version: to.Ptr("1.0"),
		},
		HourMetrics:   metrics,
		MinuteMetrics: metrics,
		CORS: []*azqueue.CORSRule{{
			AllowedOrigins: to.Ptr("http://a.example,http://b.example"), AllowedMethods: to.Ptr("GET,PUT"),
			AllowedHeaders: to.Ptr("x-ms-*"), ExposedHeaders: to.Ptr("x-ms-meta-a"),
			MaxAgeInSeconds: to.Ptr(int32(500)),
		}},
	}
	must(service.SetProperties(ctx, &azqueue.SetPropertiesOptions{
		CORS: properties.CORS, HourMetrics: metrics, Logging: properties.Logging, MinuteMetrics: metrics,
	}))(t)
	equal(t, must(service.GetServiceProperties(ctx, nil))(t).StorageServiceProperties, properties)
	must(service.SetProperties(ctx, &azqueue.SetPropertiesOptions{CORS: []*azqueue.CORSRule{}}))(t)
	found := must(service.GetServiceProperties(ctx, nil))(t)
	equal(t, len(found.CORS), 0)
	equal(t, *found.HourMetrics.RetentionPolicy.Days, int32(5))
}

// preflights asks for what a rule of http://a.example allows, and for what it does not.
func preflights(t *testing.T, endpoint string) {
	t.Helper()
	url := endpoint + "/anything"
	asked := func(origin, method, header string) map[string]string {
		return map[string]string{
			"Origin":                         origin,
			"Access-Control-Request-Method":  method,
			"Access-Control-Request-Headers": header,
		}
	}
	answer := ask(t, "OPTIONS", url, asked("http://a.example", "PUT", "x-ms-date"))
	equal(t, answer.StatusCode, 200)
	equal(t, answer.Header.Get("Access-Control-Allow-Origin"), "http://a.example")
	equal(t, answer.Header.Get("Access-Control-Allow-Methods"), "PUT")
	equal(t, answer.Header.Get("Access-Control-Allow-Headers"), "x-ms-date")
	equal(t, answer.Header.Get("Access-Control-Max-Age"), "60")
	for _, headers := range []map[string]string{
		asked("http://b.example", "PUT", "x-ms-date"),
		asked("http://a.example", "DELETE", "x-ms-date"),
		asked("http://a.example", "PUT", "content-type"),
	} {
		equal(t, ask(t, "OPTIONS", url, headers).StatusCode, 403)
	}
	// CORS gives no rights: a request without a signature is refused, readably.
	refusal := ask(t, "GET", url, map[string]string{"Origin": "http://a.example"})
	equal(t, refusal.StatusCode >= 401, true)
	equal(t, refusal.Header.Get("Access-Control-Allow-Origin"), "http://a.example")
}

func TestTablePreflightsAreAnsweredByTheRules(t *testing.T) {
	must(tableService(t).SetProperties(ctx, aztables.ServiceProperties{Cors: []*aztables.CorsRule{{
		AllowedOrigins: to.Ptr("http://a.example"), AllowedMethods: to.Ptr("GET,PUT"),
		AllowedHeaders: to.Ptr("x-ms-*"), ExposedHeaders: to.Ptr("x-ms-*"), MaxAgeInSeconds: to.Ptr(int32(60)),
	}}}, nil))(t)
	preflights(t, settings["TableEndpoint"])
}

func TestQueuePreflightsAreAnsweredByTheRules(t *testing.T) {
	service := queueService(t)
	set := func(rules []*azqueue.CORSRule) {
		must(service.SetProperties(ctx, &azqueue.SetPropertiesOptions{CORS: rules}))(t)
	}
	set([]*azqueue.CORSRule{{
		AllowedOrigins: to.Ptr("http://a.example"), AllowedMethods: to.Ptr("GET,PUT"),
		AllowedHeaders: to.Ptr("x-ms-*"), ExposedHeaders: to.Ptr("x-ms-*"), MaxAgeInSeconds: to.Ptr(int32(60)),
	}})
	preflights(t, settings["QueueEndpoint"])
	set([]*azqueue.CORSRule{})
	answer := ask(t, "OPTIONS", settings["QueueEndpoint"]+"/anything", map[string]string{
		"Origin": "http://a.example", "Access-Control-Request-Method": "PUT",
	})
	equal(t, answer.StatusCode, 403)
}

func TestTableStatisticsComeFromTheSecondaryEndpoint(t *testing.T) {
	endpoint := settings["TableEndpoint"] + "-secondary"
	service := must(aztables.NewServiceClientWithSharedKey(endpoint, tableCredential(t), nil))(t)
	statistics := must(service.GetStatistics(ctx, nil))(t)
	equal(t, *statistics.GeoReplication.Status, aztables.GeoReplicationStatusLive)
}

func TestQueueStatisticsComeFromTheSecondaryEndpoint(t *testing.T) {
	credential := must(azqueue.NewSharedKeyCredential(settings["AccountName"], settings["AccountKey"]))(t)
	endpoint := settings["QueueEndpoint"] + "-secondary"
	service := must(azqueue.NewServiceClientWithSharedKeyCredential(endpoint, credential, nil))(t)
	statistics := must(service.GetStatistics(ctx, nil))(t)
	equal(t, *statistics.GeoReplication.Status, azqueue.GeoReplicationStatusLive)
}

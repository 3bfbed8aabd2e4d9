// SPDX-License-Identifier: Apache-2.0

// A straightforward tunnel relay on net/http and gorilla/websocket. It has no limits, timers, metrics or logs and is
// for measurements only.
package main

import (
	"crypto/tls"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

type tunnel struct {
	phone  *websocket.Conn
	client *websocket.Conn
	opened chan struct{}
	joined chan struct{}
}

var (
	lock     sync.Mutex
	waiting  = map[string]*tunnel{}
	upgrader = websocket.Upgrader{
		Subprotocols: []string{"fido.cable"},
		CheckOrigin:  func(*http.Request) bool { return true },
	}
)

// forward copies messages until one end closes, and then closes the other one.
func forward(from, to *websocket.Conn) {
	for {
		kind, message, err := from.ReadMessage()
		if err != nil {
			break
		}
		if err := to.WriteMessage(kind, message); err != nil {
			break
		}
	}
	goodbye := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	to.WriteControl(websocket.CloseMessage, goodbye, time.Now().Add(time.Second))
	from.Close()
}

func open(w http.ResponseWriter, r *http.Request, id string) {
	t := &tunnel{opened: make(chan struct{}), joined: make(chan struct{})}
	lock.Lock()
	if waiting[id] != nil {
		lock.Unlock()
		http.Error(w, "taken", http.StatusConflict)
		return
	}
	waiting[id] = t
	lock.Unlock()
	phone, err := upgrader.Upgrade(w, r, http.Header{"X-caBLE-Routing-ID": {"000000"}})
	t.phone = phone
	close(t.opened)
	if err != nil {
		lock.Lock()
		delete(waiting, id)
		lock.Unlock()
		return
	}
	// A phone that leaves before its client connects is not detected.
	<-t.joined
	forward(phone, t.client)
}

func join(w http.ResponseWriter, r *http.Request, id string) {
	lock.Lock()
	t := waiting[id]
	delete(waiting, id)
	lock.Unlock()
	if t == nil {
		http.NotFound(w, r)
		return
	}
	// The client may connect before the phone's upgrade has returned.
	<-t.opened
	if t.phone == nil {
		http.NotFound(w, r)
		return
	}
	client, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		t.phone.Close()
		return
	}
	t.client = client
	close(t.joined)
	forward(client, t.phone)
}

func serve(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	switch {
	case len(parts) == 4 && parts[1] == "cable" && parts[2] == "new":
		open(w, r, parts[3])
	case len(parts) == 5 && parts[1] == "cable" && parts[2] == "connect":
		join(w, r, parts[4])
	default:
		http.NotFound(w, r)
	}
}

func main() {
	if len(os.Args) != 2 && len(os.Args) != 4 {
		log.Fatal("go-relay PORT [CERTIFICATE KEY]")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{
		Handler: http.HandlerFunc(serve),
		// HTTP/2 does not support this upgrade.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log.New(nowhere{}, "", 0),
	}
	if len(os.Args) == 4 {
		log.Fatal(server.ServeTLS(listener, os.Args[2], os.Args[3]))
	}
	log.Fatal(server.Serve(listener))
}

type nowhere struct{}

func (nowhere) Write(line []byte) (int, error) { return len(line), nil }

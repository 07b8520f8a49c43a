#!/bin/sh
ask() { printf 'AUTH %s\r\nGET greeting\r\nINCR visits\r\nQUIT\r\n' "$DATABASE_PASSWORD" | nc -w 2 database 6379; }
{ read -r login; read -r length; read -r value; read -r visits; } <<ANSWER
$(ask | tr -d '\r')
ANSWER
if [ "$login" != +OK ] || [ "$length" = '$-1' ]; then
  printf 'Status: 503 Service Unavailable\r\nContent-Type: text/plain\r\n\r\nThe database has no greeting yet.\n'
  exit 0
fi
value=$(printf '%s' "$value" | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g')
printf 'Status: 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n'
cat <<PAGE
<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Four types of steps</title>
    <style>
      body { font: 1.2rem/1.6 system-ui, sans-serif; max-width: 34rem; margin: 18vh auto 0; padding: 0 1rem; color: #223; }
      h1 { color: #274b8f; line-height: 1.2; }
    </style>
  </head>
  <body>
    <h1>$value</h1>
    <p>A script put this sentence into the database, a chart made the web server that asked for it (answer number ${visits#:}).</p>
  </body>
</html>
PAGE

/* Squares a whole number. What it takes and gives is in module_tool.tool.json.
   Compile after a change: cc -O2 -Wall -o module_tool module_tool.c */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    /* One line of JSON comes in: {"arguments": {"number": 12}} */
    static char request[65536];
    if (fgets(request, sizeof request, stdin) == NULL) {
        fputs("there is no request on standard input\n", stderr);
        return 1;
    }
    /* The schema has made sure that the number is there and is whole, so this is enough. For
       texts, take a library that reads JSON. */
    const char *key = strstr(request, "\"number\"");
    const char *colon = key == NULL ? NULL : strchr(key, ':');
    if (colon == NULL) {
        fputs("the request has no number\n", stderr);
        return 1;
    }
    long number = strtol(colon + 1, NULL, 10);

    /* One line of JSON goes out; everything else belongs on standard error. */
    printf("{\"square\": %ld}\n", number * number);
    return 0;
}

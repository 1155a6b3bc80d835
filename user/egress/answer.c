// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* ldns writes the packets and reads their options; the question's bytes are read here, as they decide. */
#include "answer.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <arpa/inet.h>
#include <ldns/ldns.h>

#define HEADER 12
#define QUESTION_TAIL 4 /* type and class */
#define UDP_SIZE 1232	/* dnsflagday.net 2020: passes without fragments */
#define BADVERS 16

const char *const answer_outcome_names[ANSWER_OUTCOMES] = {
	[ANSWER_DROPPED] = "dropped",	      [ANSWER_MALFORMED] = "malformed",
	[ANSWER_UNSUPPORTED] = "unsupported", [ANSWER_UNLISTED] = "unlisted",
	[ANSWER_UNGRANTED] = "ungranted",     [ANSWER_EXHAUSTED] = "exhausted",
	[ANSWER_NO_DATA] = "no data",	      [ANSWER_NAME] = "name",
	[ANSWER_ADDRESS] = "address",
};

/* What is told of each: an RCODE and, above 0, an extended error with its text. */
static const struct {
	__u16 rcode, error;
	const char *text;
} told[ANSWER_OUTCOMES] = {
	[ANSWER_UNLISTED] = {LDNS_RCODE_NXDOMAIN, LDNS_EDE_BLOCKED,
			     "bulkhead: the policy lists no such name"},
	[ANSWER_UNGRANTED] = {LDNS_RCODE_NXDOMAIN, LDNS_EDE_PROHIBITED,
			      "bulkhead: listed, but egress is not granted"},
	[ANSWER_EXHAUSTED] = {LDNS_RCODE_NXDOMAIN, LDNS_EDE_PROHIBITED,
			      "bulkhead: no synthetic address is left"},
	[ANSWER_NO_DATA] = {LDNS_RCODE_NOERROR, 0, NULL},
	[ANSWER_NAME] = {LDNS_RCODE_NOERROR, 0, NULL},
	[ANSWER_ADDRESS] = {LDNS_RCODE_NOERROR, 0, NULL},
};

/* The question, as its bytes say. */
struct question {
	char text[LDNS_MAX_DOMAINLEN + 1]; /* labels in lower case, with dots between */
	size_t length;			   /* of text */
	bool no_name;			   /* a label has a dot or a NUL in it */
	__u16 type, class;
};

static char fold(__u8 byte)
{
	return (char)(byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte);
}

static void add_label(struct question *question, const __u8 *label, size_t length)
{
	size_t i;

	if (question->length)
		question->text[question->length++] = '.';
	for (i = 0; i < length; i++) {
		question->no_name |= label[i] == '.' || label[i] == '\0';
		question->text[question->length++] = fold(label[i]);
	}
}

/* From the header's end on; -EINVAL if it is compressed, longer than 255 bytes on the wire or cut off. */
static int read_question(const __u8 *wire, size_t length, struct question *ret)
{
	size_t at = HEADER, end;

	*ret = (struct question){0};
	for (; at < length && wire[at]; at = end) {
		end = at + 1 + wire[at];
		if (wire[at] > LDNS_MAX_LABELLEN || end >= length ||
		    end - HEADER >= LDNS_MAX_DOMAINLEN)
			return -EINVAL;
		add_label(ret, wire + at + 1, wire[at]);
	}
	if (at + 1 + QUESTION_TAIL > length)
		return -EINVAL;
	ret->type = ldns_read_uint16(wire + at + 1);
	ret->class = ldns_read_uint16(wire + at + 3);
	return 0;
}

/* d.c.b.a.in-addr.arpa, each as inet_ntop writes it. */
static int read_reverse(const struct question *question, __u32 *ret_address)
{
	static const char tail[] = ".in-addr.arpa";
	size_t n = question->length - (sizeof(tail) - 1);
	char text[INET_ADDRSTRLEN];
	struct in_addr address;

	if (question->length < sizeof(tail) || n >= sizeof(text) ||
	    strcmp(question->text + n, tail) != 0)
		return -EINVAL;
	memcpy(text, question->text, n);
	text[n] = '\0';
	if (inet_pton(AF_INET, text, &address) != 1)
		return -EINVAL;
	*ret_address = __builtin_bswap32(ntohl(address.s_addr));
	return 0;
}

static enum answer_outcome decide_reverse(const struct answer_view *view,
					  const struct question *question, struct answer *answer)
{
	const char *name;

	if (read_reverse(question, &answer->address) < 0)
		return ANSWER_UNLISTED;
	name = book_name(view->book, answer->address);
	if (view->proxy && answer->address == book_proxy(view->book))
		name = BOOK_PROXY;
	if (!name)
		return ANSWER_UNLISTED;
	(void)snprintf(answer->name, sizeof(answer->name), "%s", name);
	return ANSWER_NAME;
}

static bool is_granted(const struct answer_view *view, const char *name)
{
	return view->granted && (!view->covers || view->covers(view->data, name));
}

/* Of a name: by the policy, then by the grant. An address is given to who asks for one, not for other types. */
static enum answer_outcome decide_name(const struct answer_view *view, struct answer *answer)
{
	bool granted = is_granted(view, answer->name);
	bool wanted = granted && answer->type == LDNS_RR_TYPE_A;
	int r = book_find(view->book, answer->name, wanted ? &answer->address : NULL);

	if (r == -ENOENT)
		return ANSWER_UNLISTED;
	if (r < 0)
		return ANSWER_EXHAUSTED;
	if (!granted)
		return ANSWER_UNGRANTED;
	return wanted ? ANSWER_ADDRESS : ANSWER_NO_DATA;
}

/* The proxy's is listed by the policy's word for it, and granted with any name: which of them it leads to it asks. */
static enum answer_outcome decide_proxy(const struct answer_view *view, struct answer *answer)
{
	(void)snprintf(answer->name, sizeof(answer->name), "%s", BOOK_PROXY);
	if (!view->granted)
		return ANSWER_UNGRANTED;
	if (answer->type != LDNS_RR_TYPE_A)
		return ANSWER_NO_DATA;
	answer->address = book_proxy(view->book);
	return ANSWER_ADDRESS;
}

static bool is_above_proxy(const struct question *question)
{
	static const char proxy[] = BOOK_PROXY;
	size_t n = sizeof(proxy) - 1 - question->length;

	return question->length && question->length < sizeof(proxy) - 1 && proxy[n - 1] == '.' &&
	       !strcmp(proxy + n, question->text);
}

/* Also what is no name that could be listed is told of, if it can be written down. */
static void keep_asked(const struct question *question, struct answer *answer)
{
	if (*answer->name || question->no_name || question->length >= sizeof(answer->name))
		return;
	for (size_t i = 0; i < question->length; i++)
		if (question->text[i] <= ' ' || question->text[i] >= 0x7f)
			return;
	memcpy(answer->name, question->text, question->length);
	answer->name[question->length] = '\0';
}

static enum answer_outcome decide(const struct answer_view *view, const struct question *question,
				  struct answer *answer)
{
	struct destination_fault fault;

	if (question->class != LDNS_RR_CLASS_IN)
		return ANSWER_UNSUPPORTED;
	if (question->no_name)
		return ANSWER_UNLISTED;
	if (question->type == LDNS_RR_TYPE_PTR)
		return decide_reverse(view, question, answer);
	if (view->proxy && !strcmp(question->text, BOOK_PROXY))
		return decide_proxy(view, answer);
	if (view->proxy && is_above_proxy(question))
		return ANSWER_NO_DATA;
	if (destination_name(question->text, question->length, answer->name, &fault) == 0 &&
	    book_find(view->book, answer->name, NULL) == 0)
		return decide_name(view, answer);
	return book_is_above(view->book, question->text) ? ANSWER_NO_DATA : ANSWER_UNLISTED;
}

static ldns_rr *make_record(const ldns_rr *question, enum ldns_enum_rr_type type, ldns_rdf *data)
{
	ldns_rr *record = ldns_rr_new();

	if (!record || !data) {
		ldns_rr_free(record);
		ldns_rdf_deep_free(data);
		return NULL;
	}
	ldns_rr_set_owner(record, ldns_rdf_clone(ldns_rr_owner(question)));
	ldns_rr_set_type(record, type);
	ldns_rr_set_class(record, LDNS_RR_CLASS_IN);
	ldns_rr_set_ttl(record, ANSWER_TTL_S);
	ldns_rr_push_rdf(record, data);
	return record;
}

/* The record that answers, if one does. */
static int add_record(ldns_pkt *reply, const ldns_rr *question, const struct answer *answer)
{
	__u32 address = htonl(answer->address);
	ldns_rr *record = NULL;

	if (answer->outcome == ANSWER_ADDRESS)
		record = make_record(question, LDNS_RR_TYPE_A,
				     ldns_rdf_new_frm_data(LDNS_RDF_TYPE_A, sizeof(address),
							   &address));
	else if (answer->outcome == ANSWER_NAME)
		record = make_record(question, LDNS_RR_TYPE_PTR,
				     ldns_dname_new_frm_str(answer->name));
	else
		return 0;
	if (!record)
		return -ENOMEM;
	if (ldns_pkt_push_rr(reply, LDNS_SECTION_ANSWER, record))
		return 0;
	ldns_rr_free(record);
	return -ENOMEM;
}

/* RFC 8914 §2: the code, and text without a NUL. */
static int add_error(ldns_pkt *reply, __u16 code, const char *text)
{
	ldns_edns_option_list *options = ldns_edns_option_list_new();
	ldns_edns_option *option;
	char data[ANSWER_SIZE];
	int length;

	if (!options)
		return -ENOMEM;
	ldns_write_uint16(data, code);
	length = 2 + snprintf(data + 2, sizeof(data) - 2, "%s", text);
	option = ldns_edns_new_from_data(LDNS_EDNS_EDE, (size_t)length, data);
	if (!option || !ldns_edns_option_list_push(options, option)) {
		ldns_edns_free(option);
		ldns_edns_option_list_deep_free(options);
		return -ENOMEM;
	}
	ldns_pkt_set_edns_option_list(reply, options);
	return 0;
}

/* A client that knows EDNS is answered in it, others are not (RFC 6891 §7). */
static int add_edns(ldns_pkt *reply, const ldns_pkt *query, enum answer_outcome outcome)
{
	if (!query || !ldns_pkt_edns(query))
		return 0;
	ldns_pkt_set_edns_udp_size(reply, UDP_SIZE);
	return told[outcome].error ? add_error(reply, told[outcome].error, told[outcome].text) : 0;
}

static int write_reply(const ldns_pkt *reply, struct answer *ret)
{
	uint8_t *wire = NULL;
	size_t length;
	int r = -ENOMEM;

	if (ldns_pkt2wire(&wire, reply, &length) == LDNS_STATUS_OK && length <= sizeof(ret->wire)) {
		memcpy(ret->wire, wire, length);
		ret->length = length;
		r = 0;
	}
	free(wire);
	return r;
}

static void copy_header(ldns_pkt *reply, const __u8 *wire)
{
	ldns_pkt_set_id(reply, LDNS_ID_WIRE(wire));
	ldns_pkt_set_opcode(reply, LDNS_OPCODE_WIRE(wire));
	ldns_pkt_set_qr(reply, true);
	ldns_pkt_set_rd(reply, LDNS_RD_WIRE(wire) != 0);
	ldns_pkt_set_cd(reply, LDNS_CD_WIRE(wire) != 0);
	ldns_pkt_set_ra(reply, true);
}

/* `query` is NULL where it could not be read. */
static int make_reply(const __u8 *wire, const ldns_pkt *query, unsigned int rcode,
		      struct answer *answer)
{
	ldns_pkt *reply = ldns_pkt_new();
	const ldns_rr *question;
	int r = 0;

	if (!reply)
		return -ENOMEM;
	copy_header(reply, wire);
	ldns_pkt_set_rcode(reply, rcode & 0xf);
	if (query) {
		question = ldns_rr_list_rr(ldns_pkt_question(query), 0);
		if (!ldns_pkt_push_rr(reply, LDNS_SECTION_QUESTION, ldns_rr_clone(question)))
			r = -ENOMEM;
		if (r == 0)
			r = add_record(reply, question, answer);
	}
	if (r == 0)
		r = add_edns(reply, query, answer->outcome);
	ldns_pkt_set_edns_extended_rcode(reply, (uint8_t)(rcode >> 4));
	if (r == 0)
		r = write_reply(reply, answer);
	ldns_pkt_free(reply);
	return r;
}

/* One question and nothing that answers: what a query is. */
static bool is_query(const __u8 *wire)
{
	return LDNS_QDCOUNT(wire) == 1 && LDNS_ANCOUNT(wire) == 0 && LDNS_NSCOUNT(wire) == 0;
}

static int refuse(const __u8 *wire, enum answer_outcome outcome, unsigned int rcode,
		  struct answer *answer)
{
	answer->outcome = outcome;
	return make_reply(wire, NULL, rcode, answer);
}

static int answer_read(const struct answer_view *view, const __u8 *wire, const ldns_pkt *query,
		       const struct question *question, struct answer *answer)
{
	if (ldns_pkt_edns(query) && ldns_pkt_edns_version(query) != 0) {
		answer->outcome = ANSWER_UNSUPPORTED;
		return make_reply(wire, query, BADVERS, answer);
	}
	answer->type = question->type;
	answer->outcome = decide(view, question, answer);
	keep_asked(question, answer);
	return make_reply(wire, query,
			  answer->outcome == ANSWER_UNSUPPORTED ? LDNS_RCODE_REFUSED
								: told[answer->outcome].rcode,
			  answer);
}

int answer_query(const struct answer_view *view, const void *query, size_t length,
		 struct answer *ret)
{
	const __u8 *wire = query;
	struct question question;
	ldns_pkt *packet = NULL;
	int r;

	*ret = (struct answer){0};
	if (length < HEADER || LDNS_QR_WIRE(wire))
		return 0;
	if (LDNS_OPCODE_WIRE(wire) != LDNS_PACKET_QUERY)
		return refuse(wire, ANSWER_UNSUPPORTED, LDNS_RCODE_NOTIMPL, ret);
	if (!is_query(wire) || read_question(wire, length, &question) < 0 ||
	    ldns_wire2pkt(&packet, wire, length) != LDNS_STATUS_OK)
		return refuse(wire, ANSWER_MALFORMED, LDNS_RCODE_FORMERR, ret);
	r = answer_read(view, wire, packet, &question, ret);
	ldns_pkt_free(packet);
	if (r < 0)
		*ret = (struct answer){0};
	return r;
}
